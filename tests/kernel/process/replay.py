"""Replaying a log: its events, told of fresh records, give the same state; and states as plain values to compare."""

from collections.abc import Iterable
from dataclasses import fields, is_dataclass, replace
from typing import Any

from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation import events as correlation
from conjoin.kernel.keys import Keys
from conjoin.kernel.process import ProcessState
from conjoin.kernel.process.commands import ForKey
from conjoin.kernel.process.state import ElementInstance, Instance, Job, Trigger
from conjoin.runtime.engine.shard import Shard
from tests.kernel.attributes import attributes_of

_CORRELATION = correlation.__name__


class Replayed:
    """The state of one shard from nothing but its log."""

    def __init__(self, shard: Shard, log: Iterable[tuple[int, Any, Any]], synchronous: set[int]) -> None:
        self.state = ProcessState(shard.definitions, Keys(shard.index))
        self.spaces: dict[tuple[str, str], KeySpace] = {}
        self._fresh: dict[int, Any] = {}
        self._synchronous = synchronous
        for index, command, event in log:
            if index == shard.index:
                self._apply(command, event)

    def _apply(self, command: Any, event: Any) -> None:
        renewed = self._renewed(event)
        if isinstance(command, ForKey):
            place = (command.tenant_id, command.key)
            renewed.apply(self.spaces.setdefault(place, KeySpace(*place)))
        else:
            renewed.apply(self.state)

    def _renewed(self, value: Any) -> Any:
        """The same value with every record replaced by a fresh one, the same one each time."""
        if isinstance(value, (Message, Subscription)):
            if id(value) not in self._fresh:
                self._fresh[id(value)] = self._fresh_record(value)
            return self._fresh[id(value)]
        if is_dataclass(value) and not isinstance(value, type) and type(value).__module__.endswith("events"):
            if id(value) not in self._fresh:
                parts = {field.name: self._renewed(getattr(value, field.name)) for field in fields(value)}
                self._fresh[id(value)] = replace(value, **parts)
            return self._fresh[id(value)]
        return value

    def _fresh_record(self, it: Any) -> Any:
        if isinstance(it, Subscription):
            about = (it.key, it.rank, it.name, it.process_id, it.instance_id, it.element_id, it.opened_at)
            return Subscription(*about, it.interrupting, it.business_id, it.payload)
        about = (it.key, it.name, it.published_at, it.deadline, it.policy, it.message_id, it.business_id, it.payload)
        message = Message(*about)
        message.sync = it.key in self._synchronous
        return message


def plain_state(state: ProcessState) -> dict[str, Any]:
    """Everything that is known of instances, as plain values, nothing shared with the state."""
    return {
        "next": state.keys.next,
        "elements": {key: _plain_element(it) for key, it in sorted(state.elements.items())},
        "jobs": {key: _slots(job) for key, job in sorted(state.jobs.items())},
        "ready": {
            job.type: state.job_index.oldest(state.elements[job.element_key].instance.tenant_id, job.type, 10**6)
            for job in state.jobs.values()
        },
        "incidents": dict(sorted(state.incidents.items())),
        "timers": dict(sorted(state.timers.items())),
        "due": sorted(entry for entry in state.due_timers if entry[1] in state.timers),
        "due_jobs": state.due_jobs[:1],
        "signals": {place: dict(waits) for place, waits in state.signals.items()},
        "start_timers": {place: list(keys) for place, keys in state.start_timers.items() if keys},
    }


def _slots(job: Job) -> dict[str, Any]:
    return {name: getattr(job, name) for name in attributes_of(job)}


def _plain_element(it: ElementInstance) -> dict[str, Any]:
    return {name: _plain(getattr(it, name)) for name in attributes_of(it)}


def _plain(value: Any) -> Any:
    if isinstance(value, ElementInstance):
        return ("instance", value.key) if isinstance(value, Instance) else ("element", value.key)
    if isinstance(value, Subscription):
        return ("subscription", value.key, value.name, value.payload, value.element_id)
    if isinstance(value, Trigger):
        return ("trigger", value.element_id, _plain(value.variables), value.subscription_key)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {name: _plain(part) for name, part in value.items()}
    return getattr(value, "id", None) or getattr(value, "key", None) or value


def plain_space(space: KeySpace) -> dict[str, Any]:
    return {
        "subscriptions": sorted(space.subscriptions),
        "busy": {key: it.busy_with and it.busy_with.key for key, it in space.subscriptions.items()},
        "locks": {process_id: lock.instance_id for process_id, lock in space.locks.items()},
        "topics": {
            name: {
                "messages": {m.key: (sorted(m.marks), len(m.targets)) for m in topic.messages if m.stored},
                "ids": {text: m.key for text, m in (topic.ids or {}).items()},
                "waiting": {process_id: [s.key for s in lane] for process_id, lane in topic.lanes.items()},
                "held": [m.key for m in topic.held or ()],
            }
            for name, topic in space.topics.items()
        },
    }

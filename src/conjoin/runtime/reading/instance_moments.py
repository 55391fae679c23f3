"""The moments of one instance, told by the events of its shard: entered, left, messages, jobs, variables, incidents.

Most events name only what they happened to, an element or a job. So whoever reads the log in its order keeps the keys
of everything alive inside, and an event belongs to the instance if it names one of them.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from conjoin.kernel.process import commands as c
from conjoin.runtime.run.log import Entry

_FEW = 16
_NUMBER = re.compile(rb"\d{16,19}")


class Moment(NamedTuple):
    """`kind` is what happened, in one or two words; `element_id` where; `message_key` of the message that was taken."""

    at: int
    kind: str
    element_id: str = ""
    detail: str = ""
    message_key: int | None = None
    variables: Mapping[str, Any] | None = None


class Moments:
    """`inside` are the keys of what is alive, with the element that each belongs to."""

    def __init__(self, instance_key: int, inside: Mapping[int, str]) -> None:
        self.inside: dict[int, str] = {instance_key: "", **inside}
        self.has_begun = self.is_over = False
        self._instance_key = instance_key
        self._owned: dict[int, list[int]] = {}
        self._arrived: set[int] = set()

    def mentions(self, text: bytes) -> bool:
        """Any of what is alive. Looking for each is fast as long as they are few."""
        if len(self.inside) <= _FEW:
            return any(str(key).encode() in text for key in self.inside)
        return any(int(number) in self.inside for number in _NUMBER.findall(text))

    def told(self, entry: Entry) -> Iterator[Moment]:
        for event in entry.events:
            note = _NOTES.get(event.kind)
            if note is not None:
                yield from note(self, event, entry)

    def _has(self, key: int, element_id: str, owner: int) -> None:
        self.inside[key] = element_id
        self._owned.setdefault(owner, []).append(key)

    def _is_gone(self, key: int) -> None:
        self.inside.pop(key, None)
        self._arrived.discard(key)
        for owned in self._owned.pop(key, ()):
            self.inside.pop(owned, None)

    def _created(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key == self._instance_key:
            self.has_begun = True
            yield Moment(entry.at, "started", "", f"by {event.started}", None, event.variables or None)

    def _ended(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key == self._instance_key:
            self.is_over = True
            yield Moment(entry.at, "completed" if event.kind == "InstanceCompleted" else "cancelled")

    def _entered(self, event: Any, entry: Entry) -> Iterator[Moment]:
        """Once, even if it got no further at first."""
        if event.scope_key in self.inside and event.key not in self._arrived:
            self._arrived.add(event.key)
            self.inside[event.key] = event.element_id
            yield Moment(entry.at, "entered", event.element_id, "", None, event.variables or None)

    def _passed(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.scope_key in self.inside:
            yield Moment(entry.at, "passed", event.element_id)

    def _left(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key in self.inside and event.key != self._instance_key:
            yield Moment(entry.at, "left" if event.kind == "ElementCompleted" else "ended by force", self._at(event))
            self._is_gone(event.key)

    def _started_by_message(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.instance_id == self._instance_key:
            yield Moment(entry.at, "message", event.start_element_id or "", "started it", event.message)

    def _awaited(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key in self.inside:
            self._has(event.subscription, self._at(event), event.key)
            yield Moment(entry.at, "waits", self._at(event), "for a message")

    def _correlated(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.subscription in self.inside:
            yield Moment(entry.at, "message", self.inside[event.subscription], "correlated", event.message)

    def _triggered(self, event: Any, entry: Entry) -> Iterator[Moment]:
        """What came from another shard was correlated there; here it is delivered."""
        sent = entry.request
        is_delivery = isinstance(sent, c.DeliverMessage) and sent.subscription.key == event.subscription_key
        if is_delivery and event.key in self.inside:
            yield Moment(entry.at, "message", event.element_id, "correlated", sent.message.key)

    def _written_to(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.scope_key in self.inside and event.variables:
            yield Moment(entry.at, "variables", self.inside[event.scope_key], "", None, event.variables)

    def _result_kept(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.scope_key in self.inside:
            kept = {f"{event.collection}[{event.index + 1}]": event.value}
            yield Moment(entry.at, "variables", self.inside[event.scope_key], "", None, kept)

    def _timer_started(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.owner_key in self.inside:
            self._has(event.key, event.element_id, event.owner_key)
            yield Moment(entry.at, "waits", event.element_id, "for a timer")

    def _signal_awaited(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.owner_key in self.inside:
            yield Moment(entry.at, "waits", event.element_id, f"for the signal {event.name}")

    def _timer_ended(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key in self.inside and isinstance(entry.request, c.FireTimers):
            yield Moment(entry.at, "timer", self.inside[event.key], "fired")
        self.inside.pop(event.key, None)

    def _job_created(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.element_key in self.inside:
            self._has(event.key, self.inside[event.element_key], event.element_key)
            yield Moment(entry.at, "job", self.inside[event.key], f"of type {event.type}")

    def _job(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key in self.inside:
            yield Moment(entry.at, "job", self.inside[event.key], _JOBS[event.kind](event))

    def _raised(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.element_key in self.inside:
            self._has(event.key, self.inside[event.element_key], event.element_key)
            yield Moment(entry.at, "incident", self.inside[event.key], event.text)

    def _resolved(self, event: Any, entry: Entry) -> Iterator[Moment]:
        if event.key in self.inside:
            yield Moment(entry.at, "incident", self.inside.pop(event.key), "resolved")

    def _at(self, event: Any) -> str:
        return self.inside[event.key]


_JOBS: dict[str, Callable[[Any], str]] = {
    "JobActivated": lambda event: f"given to {event.worker or 'a worker'}",
    "JobCompleted": lambda event: "completed",
    "JobFailed": lambda event: f"failed, {event.retries} retries left{': ' if event.message else ''}{event.message}",
    "ErrorThrown": lambda event: f"threw the error {event.code}",
    "JobReturned": lambda event: "came back: it may be given to a worker again",
    "RetriesUpdated": lambda event: f"has {event.retries} retries now",
    "TaskAssigned": lambda event: f"assigned to {event.assignee or 'nobody'}",
}
_NOTES: dict[str, Callable[[Moments, Any, Entry], Iterator[Moment]]] = {
    "InstanceCreated": Moments._created,
    "InstanceCompleted": Moments._ended,
    "InstanceTerminated": Moments._ended,
    "ElementEntered": Moments._entered,
    "LoopEntered": Moments._entered,
    "ElementPassed": Moments._passed,
    "ElementCompleted": Moments._left,
    "ElementTerminated": Moments._left,
    "InstanceStarted": Moments._started_by_message,
    "MessageAwaited": Moments._awaited,
    "MessageCorrelated": Moments._correlated,
    "ElementTriggered": Moments._triggered,
    "ScopeInterrupted": Moments._triggered,
    "VariablesWritten": Moments._written_to,
    "ResultKept": Moments._result_kept,
    "TimerStarted": Moments._timer_started,
    "TimerEnded": Moments._timer_ended,
    "SignalAwaited": Moments._signal_awaited,
    "JobCreated": Moments._job_created,
    "IncidentRaised": Moments._raised,
    "IncidentResolved": Moments._resolved,
    **dict.fromkeys(_JOBS, Moments._job),
}

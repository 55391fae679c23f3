"""The history of one instance, from the log of its shard: from the commit in which it began, for a bounded time.

Commits are in the order of their times, so the first is found by bisection, whatever the length of the log; from there
the log is read until the instance has ended. Most events name only what they happened to, an element or a job: so
the keys of everything alive inside are kept, and an event belongs to the instance if it names one of them.
"""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from time import monotonic
from typing import Any, NamedTuple

from conjoin.kernel.process import commands as c
from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.instances import elements_of
from conjoin.runtime.run.log import Entry, read_wanted
from conjoin.store.port import ShardStore
from conjoin.store.rows import InstanceRow, LogRow

MOST_MOMENTS = 500
_FIRST_AT_ONCE, _MOST_AT_ONCE = 4, 512
_FAST_S = 0.01
_FEW_KEYS = 16
_NUMBER = re.compile(rb"\d{16,19}")


class Moment(NamedTuple):
    """`kind` is what happened, in one or two words; `element_id` where; `message_key` of the message that was taken.

    `subscription` is the key of the wait that began, `due_at` when a timer is due that was started.
    """

    at: int
    kind: str
    element_id: str = ""
    detail: str = ""
    message_key: int | None = None
    variables: Mapping[str, Any] | None = None
    subscription: int | None = None
    due_at: int | None = None


class InstanceHistory(NamedTuple):
    """`looked_to`: the log was read up to this instant, and there is more; None if it was read to its end.

    `begins_at`: the log begins only then, so that what came before is not known; None if all of it is there.
    `left_out` are so many of the oldest moments.
    """

    moments: list[Moment]
    looked_to: int | None
    begins_at: int | None
    left_out: int


def history_of(broker: Broker, row: InstanceRow, within_s: float) -> InstanceHistory:
    ends = monotonic() + within_s
    log = broker.store.shard(broker.homes.shard_of_record(row.key))
    oldest = first_commit_after(log, 0)
    if oldest is None:
        return InstanceHistory([], None, broker.now, 0)
    is_late = oldest.version > 1 and oldest.at > row.started_at
    reader = _MomentReader(row.key, _alive(row) if is_late else {})
    first = oldest.version if is_late else first_version_at(log, oldest.version, row.started_at)
    moments: deque[Moment] = deque(maxlen=MOST_MOMENTS)
    count, looked_to = 0, None
    for commit in _commits(log, first - 1):
        for entry in read_wanted(commit.block, reader.mentions):
            for moment in reader.moments(entry):
                moments.append(moment)
                count += 1
        if reader.is_over or (row.ended_at is not None and commit.at > row.ended_at):
            break
        if monotonic() > ends:
            looked_to = commit.at
            break
    begins_at = None if reader.has_begun else oldest.at
    return InstanceHistory(list(moments), looked_to, begins_at, count - len(moments))


def _alive(row: InstanceRow) -> dict[int, str]:
    """Of one whose beginning is not in the log any more: what is inside now may have been there then."""
    keys = ((key, it.element_id) for it in elements_of(row) for key in (it.key, it.job_key, it.incident_key))
    return {key: element_id for key, element_id in keys if key and key != row.key}


def first_commit_after(log: ShardStore, version: int) -> LogRow | None:
    return next(log.log(version, 1), None)


def first_version_at(log: ShardStore, oldest: int, at: int) -> int:
    """The first version with such a time, or one later."""
    with closing(log.reader()) as reader, reader.begin() as snapshot:
        low, high = oldest, snapshot.head.version
    while low < high:
        middle = (low + high) // 2
        found = first_commit_after(log, middle - 1)
        low, high = (middle + 1, high) if found is not None and found.at < at else (low, middle)
    return low


def _commits(log: ShardStore, after: int) -> Iterator[LogRow]:
    """More at a time as long as that is fast: blocks may be large, and the time is checked only between reads."""
    at_once = _FIRST_AT_ONCE
    while True:
        began = monotonic()
        rows = list(log.log(after, at_once))
        yield from rows
        if len(rows) < at_once:
            return
        after = rows[-1].version
        if monotonic() - began < _FAST_S:
            at_once = min(2 * at_once, _MOST_AT_ONCE)


_OF_JOBS: dict[str, Callable[[Any], str]] = {
    "JobActivated": lambda event: f"given to {event.worker or 'a worker'}",
    "JobCompleted": lambda event: "completed",
    "JobFailed": lambda event: f"failed, {event.retries} retries left{': ' if event.message else ''}{event.message}",
    "ErrorThrown": lambda event: f"threw the error {event.code}",
    "JobReturned": lambda event: "came back: it may be given to a worker again",
    "RetriesUpdated": lambda event: f"has {event.retries} retries now",
    "TaskAssigned": lambda event: f"assigned to {event.assignee or 'nobody'}",
}


class _MomentReader:
    """`inside` are the keys of what is alive, with the element that each belongs to."""

    def __init__(self, instance_key: int, inside: Mapping[int, str]) -> None:
        self.has_begun = self.is_over = False
        self._instance_key = instance_key
        self._inside: dict[int, str] = {instance_key: "", **inside}
        self._owned: dict[int, list[int]] = {}
        self._entered: set[int] = set()

    def mentions(self, text: bytes) -> bool:
        """Any of what is alive. Looking for each is fast as long as they are few."""
        if len(self._inside) <= _FEW_KEYS:
            return any(str(key).encode() in text for key in self._inside)
        return any(int(number) in self._inside for number in _NUMBER.findall(text))

    def moments(self, entry: Entry) -> Iterator[Moment]:
        for event in entry.events:
            found = self._moment(event, entry.request)
            if found is not None:
                yield found._replace(at=entry.at)

    def _moment(self, event: Any, request: Any) -> Moment | None:
        """Without its time; None if it is not about this instance."""
        inside = self._inside
        match event.kind:
            case "InstanceCreated" if event.key == self._instance_key:
                self.has_begun = True
                return Moment(0, "started", "", f"by {event.started}", None, event.variables or None)
            case "InstanceCompleted" | "InstanceTerminated" if event.key == self._instance_key:
                self.is_over = True
                return Moment(0, "completed" if event.kind == "InstanceCompleted" else "cancelled")
            case "InstanceStarted" if event.instance_id == self._instance_key:
                return Moment(0, "message", event.start_element_id or "", "started it", event.message)
            case "ElementEntered" | "LoopEntered" if event.scope_key in inside and event.key not in self._entered:
                # Once, even if it got no further at first.
                self._entered.add(event.key)
                inside[event.key] = event.element_id
                return Moment(0, "entered", event.element_id, "", None, event.variables or None)
            case "ElementPassed" if event.scope_key in inside:
                return Moment(0, "passed", event.element_id)
            case "ElementCompleted" | "ElementTerminated" if event.key in inside and event.key != self._instance_key:
                self._entered.discard(event.key)
                for owned in self._owned.pop(event.key, ()):
                    inside.pop(owned, None)
                kind = "left" if event.kind == "ElementCompleted" else "ended by force"
                return Moment(0, kind, inside.pop(event.key))
            case "MessageAwaited" if event.key in inside:
                where = self._own(event.subscription, event.key)
                return Moment(0, "waits", where, "for a message", subscription=event.subscription)
            case "MessageCorrelated" if event.subscription in inside:
                return Moment(0, "message", inside[event.subscription], "correlated", event.message)
            case "ElementTriggered" | "ScopeInterrupted" if event.key in inside:
                # What came from another shard was correlated there; here it is delivered.
                if isinstance(request, c.DeliverMessage) and request.subscription.key == event.subscription_key:
                    return Moment(0, "message", event.element_id, "correlated", request.message.key)
            case "VariablesWritten" if event.scope_key in inside and event.variables:
                return Moment(0, "variables", inside[event.scope_key], "", None, event.variables)
            case "ResultKept" if event.scope_key in inside:
                result = {f"{event.collection}[{event.index + 1}]": event.value}
                return Moment(0, "variables", inside[event.scope_key], "", None, result)
            case "TimerStarted" if event.owner_key in inside:
                self._own(event.key, event.owner_key, event.element_id)
                return Moment(0, "waits", event.element_id, "for a timer", due_at=event.due_at)
            case "TimerEnded":
                element_id = inside.pop(event.key, None)
                if element_id is not None and isinstance(request, c.FireTimers):
                    return Moment(0, "timer", element_id, "fired")
            case "SignalAwaited" if event.owner_key in inside:
                return Moment(0, "waits", event.element_id, f"for the signal {event.name}")
            case "JobCreated" if event.element_key in inside:
                return Moment(0, "job", self._own(event.key, event.element_key), f"of type {event.type}")
            case kind if kind in _OF_JOBS and event.key in inside:
                return Moment(0, "job", inside[event.key], _OF_JOBS[kind](event))
            case "IncidentRaised" if event.element_key in inside:
                return Moment(0, "incident", self._own(event.key, event.element_key), event.text)
            case "IncidentResolved" if event.key in inside:
                return Moment(0, "incident", inside.pop(event.key), "resolved")
        return None

    def _own(self, key: int, owner: int, element_id: str | None = None) -> str:
        """It is gone when its owner is. The answer is the element that it belongs to."""
        self._inside[key] = self._inside[owner] if element_id is None else element_id
        self._owned.setdefault(owner, []).append(key)
        return self._inside[key]

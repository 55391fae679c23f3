"""What a run has changed about instances: each is written again if its text is another than the one that was loaded.

An instance grows up to a bound: whoever loads it needs several times its size, and every change writes all of it. One
that is larger, as an earlier version may have left it, still loads, and may become smaller or end.
"""

from collections.abc import Sequence
from typing import Any

from conjoin.errors import InstanceTooLarge
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance
from conjoin.runtime.codec.index_rows import index_rows, timer_row
from conjoin.runtime.codec.instances import body_of
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow
from conjoin.store.tables import Table

ACTIVE, COMPLETED, TERMINATED = "active", "completed", "terminated"
MOST_BODY_BYTES = 64 * 1024 * 1024
"""All of an instance as it is stored: its variables, and everything alive inside."""
_MOST_BYTES_A_CHARACTER = 4
_ENDS: dict[type, str] = {pe.InstanceCompleted: COMPLETED, pe.InstanceTerminated: TERMINATED}


class InstanceChanges:
    def __init__(self, its: WorkingSet) -> None:
        self._its = its
        self._started: dict[int, int] = {}
        self._ended: dict[int, tuple[str, int]] = {}
        self.put: dict[Table, list[Any]] = {}
        self.drop: dict[Table, list[tuple[Any, ...]]] = {}

    def note(self, order: Any, decided: Sequence[Any]) -> None:
        """Events of the process half."""
        for event in decided:
            kind = type(event)
            if kind is pe.InstanceCreated:
                self._started[event.key] = order.at
            elif kind in _ENDS:
                self._ended[event.key] = (_ENDS[kind], order.at)

    def finish(self) -> None:
        rows = [row for instance in self._its.state.live.values() if (row := self._row(instance)) is not None]
        if rows:
            self.put[t.INSTANCE] = rows
        self._start_timers()

    def moved(self) -> dict[Table, set[int]]:
        """The timers and jobs that are other ones now, or gone."""
        return {
            table: {row.key for row in self.put.get(table, ())} | {key for (key,) in self.drop.get(table, ())}
            for table in (t.TIMER, t.JOB)
        }

    def _row(self, instance: Instance) -> InstanceRow | None:
        its, key = self._its, instance.key
        before = its.state.rows.get(key)
        ended = self._ended.get(key)
        body = body_of(instance, its.state) if ended is None else json_text(_remains(instance))
        if before is not None and before.body == body and ended is None:
            return None
        _check_size(key, body, "" if before is None else before.body)
        incidents = self._index(instance, ended is None)
        state, ended_at = ended or (ACTIVE, None)
        if before is not None:
            return before._replace(state=state, ended_at=ended_at, incidents=incidents, body=body)
        definition = instance.definition
        which = (definition.key, definition.process_id, definition.version, instance.tenant_id)
        came = (instance.business_id, instance.started, instance.parent_key, instance.lock_key)
        when = (self._started[key], ended_at)
        return InstanceRow(key, its.state.root_of(instance), *which, *came, state, *when, incidents, body)

    def _index(self, instance: Instance, is_alive: bool) -> int:
        """Its index rows as they are now; the answer is the number of its open incidents."""
        before = self._its.state.indexed.get(instance.key, {})
        now = index_rows(instance, self._its.state) if is_alive else {}
        for place, row in now.items():
            if before.get(place) != row:
                self.put.setdefault(place[0], []).append(row)
        for table, key in before:
            if (table, key) not in now:
                self.drop.setdefault(table, []).append((key,))
        return sum(table is t.INCIDENT for table, _ in now)

    def _start_timers(self) -> None:
        its = self._its
        now = {key: place for place, keys in its.state.start_timers.items() for key in keys}
        for key, place in now.items():
            if key not in its.state.start_timer_rows:
                self.put.setdefault(t.TIMER, []).append(timer_row(its.state.timers[key], 0, *place))
        for key in its.state.start_timer_rows:
            if key not in now:
                self.drop.setdefault(t.TIMER, []).append((key,))


def _check_size(key: int, body: str, before: str) -> None:
    if len(body) * _MOST_BYTES_A_CHARACTER <= MOST_BODY_BYTES:
        return
    size = len(body.encode())
    if size > MOST_BODY_BYTES and size > len(before.encode()):
        raise InstanceTooLarge(key, size, MOST_BODY_BYTES)


def _remains(instance: Instance) -> list[Any]:
    """Of an ended instance its variables are kept."""
    return [instance.key, instance.element.id, 0, instance.variables]

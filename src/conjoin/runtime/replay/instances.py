"""The rows of instances, and of what they are found by, that a replayed shard should have.

Live ones are read off the state at the end. Of one that ended a row was made when its commit ended, and that is all.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance, ProcessState
from conjoin.runtime.codec.index_rows import IndexRows, index_rows, timer_row
from conjoin.runtime.codec.instances import body_of
from conjoin.runtime.codec.json_text import json_text
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow, TimerRow

_ENDS = {pe.InstanceCompleted: "completed", pe.InstanceTerminated: "terminated"}


class ReplayedInstances:
    def __init__(self, state: ProcessState) -> None:
        self._state = state
        self._live: dict[int, Instance] = {}
        self._began: dict[int, int] = {}
        self._trees: dict[int, int] = {}
        self._new: list[Instance] = []
        self._over: dict[int, tuple[str, int]] = {}
        self.ended: dict[int, InstanceRow] = {}

    def note(self, order: Any, decided: Sequence[Any]) -> None:
        for event in decided:
            kind = type(event)
            if kind is pe.InstanceCreated:
                instance = self._state.elements[event.key]
                assert isinstance(instance, Instance)
                self._live[event.key] = instance
                self._began[event.key] = order.at
                self._new.append(instance)
            elif kind in _ENDS:
                self._over[event.key] = (_ENDS[kind], order.at)

    def end_commit(self) -> None:
        for instance in self._new:
            self._trees[instance.key] = self._tree_of(instance)
        for key, (state, at) in self._over.items():
            instance = self._live.pop(key)
            remains = json_text([instance.key, instance.element.id, 0, instance.variables])
            self.ended[key] = self._row(instance, state, at, remains, 0)
            del self._began[key], self._trees[key]
        self._new.clear()
        self._over.clear()

    def _tree_of(self, instance: Instance) -> int:
        """The outermost instance around one; what is gone by the end of its first commit has no say any more."""
        call = self._state.elements.get(instance.parent_key)
        return instance.key if call is None else self._tree_of(call.instance)

    def put(self, row: InstanceRow, instance: Instance) -> None:
        """A live one, as a snapshot has it."""
        self._live[row.key] = instance
        self._began[row.key] = row.started_at
        self._trees[row.key] = row.tree_key

    def _row(self, instance: Instance, state: str, ended_at: int | None, body: str, incidents: int) -> InstanceRow:
        definition = instance.definition
        which = (definition.key, definition.process_id, definition.version, instance.tenant_id)
        came = (instance.business_id, instance.started, instance.parent_key, instance.lock_key)
        when = (self._began[instance.key], ended_at)
        return InstanceRow(instance.key, self._trees[instance.key], *which, *came, state, *when, incidents, body)

    def instances(self) -> Iterator[InstanceRow]:
        yield from self.ended.values()
        for instance in self._live.values():
            incidents = sum(table is t.INCIDENT for table, _ in index_rows(instance, self._state))
            yield self._row(instance, "active", None, body_of(instance, self._state), incidents)

    def index(self) -> IndexRows:
        """Jobs, incidents, scopes, signals, and timers with those of start events."""
        found: IndexRows = {}
        for instance in self._live.values():
            found |= index_rows(instance, self._state)
        for row in self._start_timers():
            found[t.TIMER, row.key] = row
        return found

    def _start_timers(self) -> Iterator[TimerRow]:
        for (tenant_id, process_id), keys in self._state.start_timers.items():
            for key in keys:
                yield timer_row(self._state.timers[key], 0, tenant_id, process_id)

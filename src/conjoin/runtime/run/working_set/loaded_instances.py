"""Loaded instances: the part of a shard's state that one run has loaded, and how the rest is fetched.

An instance is loaded with those that called it, and without the others that these have called: what ends, fails or
throws concerns its callers, up to the outermost; only whoever ends others by force needs them, and asks for each.
Invariant: whoever called an instance that is loaded is loaded, too.
"""

from collections.abc import Iterable, Sequence

from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import Keys
from conjoin.kernel.process import ProcessState
from conjoin.kernel.process.state import Instance
from conjoin.runtime.codec.index_rows import IndexRows, index_rows, put_start_timer
from conjoin.runtime.codec.instances import read_instance
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.run.working_set.elements_by_key import instances_with_elements
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import InstanceRow, TimerRow
from conjoin.store.tables import Table

_FEW = 8
"""So many that were called are looked up one by one; whoever ends more of them ends all, as a rule."""


class LoadedState(ProcessState):
    """An instance that was called is fetched when it is asked for."""

    __slots__ = ("_called", "_looked_up", "_snapshot", "business_ids", "indexed", "live", "rows", "start_timer_rows")

    def __init__(self, definitions: Definitions, keys: Keys, snapshot: ShardSnapshot) -> None:
        super().__init__(definitions, keys)
        self.rows: dict[int, InstanceRow] = {}
        """As they were loaded."""
        self.indexed: dict[int, IndexRows] = {}
        self.live: dict[int, Instance] = {}
        """Those that were loaded or begun in this run, ended ones too."""
        self.start_timer_rows: dict[int, TimerRow] = {}
        self.business_ids: BusinessIds | None = None
        self._snapshot = snapshot
        self._called: set[int] = set()
        self._looked_up: set[tuple[str, int]] = set()

    def instance(self, key: int) -> Instance | None:
        if key and key not in self.elements and key not in self._called:
            self._called.add(key)
            self.fetch([key] if len(self._called) <= _FEW else self._all_called())
        return super().instance(key)

    def _all_called(self) -> list[int]:
        called = [it.work_key for it in self.elements.values() if it.work_key and it.work_key not in self.jobs]
        self._called.update(called)
        return called

    def fetch(self, keys: Iterable[int]) -> None:
        """Instances, by their keys, with their callers."""
        missing = [key for key in dict.fromkeys(keys) if key not in self.live and self._is_new("instance", key)]
        if missing:
            rows = self._snapshot.instances(missing)
            self._put(rows)
            self.fetch(self._callers_of(rows))

    def fetch_owner(self, table: Table, key: int) -> None:
        """The instance that a job or an incident is in."""
        if key not in self.jobs and key not in self.incidents and self._is_new(table.name, key):
            self.fetch(self._snapshot.instances_of(table, [key]).values())

    def fetch_scope(self, key: int) -> None:
        """By the key of an instance, of a scope inside one, or else of any element."""
        self.fetch([key])
        if key not in self.elements:
            self.fetch(instances_with_elements(self._snapshot, [key]))

    def fetch_timers(self, rows: Sequence[TimerRow]) -> None:
        self.put_start_timers(row for row in rows if not row.instance_key)
        self.fetch(row.instance_key for row in rows if row.instance_key)

    def put_start_timers(self, rows: Iterable[TimerRow]) -> None:
        for row in rows:
            if row.key not in self.start_timer_rows:
                self.start_timer_rows[row.key] = row
                put_start_timer(self, row)

    def root_of(self, instance: Instance) -> int:
        """The key of the outermost instance around one: itself, unless it was called."""
        while instance.parent_key:
            call = self.elements.get(instance.parent_key)
            if call is None:
                break
            instance = call.instance
        return instance.key

    def _is_new(self, what: str, key: int) -> bool:
        looked_up = (what, key)
        if looked_up in self._looked_up:
            return False
        self._looked_up.add(looked_up)
        return True

    def _put(self, rows: Sequence[InstanceRow]) -> None:
        for row in rows:
            if row.key in self.live:
                # It may have ended in this run, of which the snapshot knows nothing.
                continue
            instance = read_instance(self, row)
            self.rows[row.key] = row
            self.live[row.key] = instance
            if self.business_ids is not None and not row.parent_key:
                self.business_ids.hold(row.tenant_id, row.process_id, row.business_id, row.key)
            found = index_rows(instance, self)
            if found:
                self.indexed[row.key] = found

    def _callers_of(self, rows: Iterable[InstanceRow]) -> list[int]:
        """Instances between these and the outermost ones that are not loaded yet."""
        missing = [row.parent_key for row in rows if row.parent_key and row.parent_key not in self.elements]
        return instances_with_elements(self._snapshot, list(dict.fromkeys(missing))) if missing else []

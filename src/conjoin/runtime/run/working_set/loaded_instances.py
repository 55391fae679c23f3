"""Loaded instances: the part of a shard's state that one run has loaded, and how the rest is fetched.

An instance is loaded with those that called it, and without the others that these have called: what ends, fails or
throws concerns its callers, up to the outermost; only what terminates others needs them, and looks each up.
Invariant: the callers of an instance that is loaded are loaded, too.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import COUNTER_BITS, Keys
from conjoin.kernel.process import ProcessState
from conjoin.kernel.process.state import Instance
from conjoin.runtime.codec.instances import IndexRows, index_rows, put_start_timer, read_instance
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.run.log import raw_entries
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import InstanceRow, TimerRow
from conjoin.store.tables import Table

NEAR = 64
"""How far above the key of an instance its own elements are looked for."""
_FIRST_KEY = 1 << COUNTER_BITS
_FEW = 8
"""How many that were called are looked up one by one; what terminates more of them terminates all, as a rule."""


class LoadedState(ProcessState):
    """An instance that was called is fetched when it is looked up."""

    __slots__ = ("_called", "_looked_up", "_snapshot", "business_ids", "indexed", "live", "rows", "start_timer_rows")

    def __init__(self, definitions: Definitions, keys: Keys, snapshot: ShardSnapshot) -> None:
        super().__init__(definitions, keys)
        self.rows: dict[int, InstanceRow] = {}
        """As they were read, also those that were only found on a correlation key, and are not loaded."""
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
            called = [key]
            if len(self._called) > _FEW:
                called = [it.work_key for it in self.elements.values() if it.work_key and it.work_key not in self.jobs]
                self._called.update(called)
            self.fetch(called)
        return super().instance(key)

    def fetch(self, keys: Iterable[int]) -> None:
        """Instances, by their keys, with their callers."""
        missing = [key for key in dict.fromkeys(keys) if key not in self.live and self._is_new("instance", key)]
        if missing:
            known = [self.rows[key] for key in missing if key in self.rows]
            others = [key for key in missing if key not in self.rows]
            others += [row.tree_key for row in known if row.parent_key and row.tree_key not in self.rows]
            rows = [row for row in known if row.state == "active"]
            if others:
                rows += self._snapshot.instances(list(dict.fromkeys(others)))
            self._load(rows)

    def _load(self, rows: Sequence[InstanceRow]) -> None:
        self._put(rows)
        between = [row.parent_key for row in rows if row.parent_key and row.parent_key not in self.elements]
        if between:
            self.fetch(instances_with_elements(self._snapshot, list(dict.fromkeys(between))))

    def know(self, rows: Iterable[InstanceRow]) -> None:
        """Rows that were found on a correlation key: an instance is made of one when something reaches it."""
        for row in rows:
            self.rows[row.key] = row

    def fetch_owners(self, table: Table, keys: Iterable[int]) -> None:
        """The instances that jobs or incidents are in."""
        jobs, incidents = self.jobs, self.incidents
        missing = [key for key in keys if key not in jobs and key not in incidents and self._is_new(table.name, key)]
        if missing:
            rows = self._snapshot.instances_with(table, missing)
            self._looked_up.update(("instance", row.key) for row in rows)
            self._load(rows)

    def fetch_scopes(self, keys: Sequence[int]) -> None:
        """By the keys of instances, of scopes inside of them, or else of any element."""
        self.fetch(keys)
        missing = [key for key in keys if key not in self.elements and self._is_new("element", key)]
        if missing:
            self.fetch(instances_with_elements(self._snapshot, missing))

    def fetch_timers(self, rows: Sequence[TimerRow]) -> None:
        self.put_start_timers(row for row in rows if not row.instance_key)
        self.fetch(row.instance_key for row in rows if row.instance_key)

    def put_start_timers(self, rows: Iterable[TimerRow]) -> None:
        for row in rows:
            if row.key not in self.start_timer_rows:
                self.start_timer_rows[row.key] = row
                put_start_timer(self, row)

    def let_go(self) -> None:
        """An instance and what is inside know each other; what lies deeper is left to the collector."""
        for instance in self.live.values():
            for child in instance.children():
                child.preceding = None
            instance.first = instance.last = None

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
                # It may have ended in this run, which the snapshot does not show.
                continue
            instance = read_instance(self, row)
            self.rows[row.key] = row
            self.live[row.key] = instance
            if self.business_ids is not None and not row.parent_key:
                self.business_ids.hold(row.tenant_id, row.process_id, row.business_id, row.key)
            found = index_rows(instance, self)
            if found:
                self.indexed[row.key] = found


def instances_with_elements(snapshot: ShardSnapshot, keys: Sequence[int]) -> list[int]:
    """The active instances that may hold these element instances; few for each, however many there are.

    Nothing is written for this, and no table is walked. A scope or a call activity has a row. What was entered soon
    after its instance began is in one of the few with keys just below. Of all others the log shows in which scope they
    were entered: keys only grow, so the block is found by halving. Before the beginning of the log (it was cut, or the
    store was resharded) instances that old are looked into.
    """
    found = snapshot.instances_of(t.SCOPE, keys)
    others = (key for key in keys if key not in found and key >= _FIRST_KEY)
    return [
        *found.values(),
        *(it for key in others for it in snapshot.instances_mentioning(key, key - NEAR) or _by_log(snapshot, key)),
    ]


def _by_log(snapshot: ShardSnapshot, key: int) -> Sequence[int]:
    first, last = snapshot.log_ends()
    entry = _entry_that_used(snapshot, key, first, last) if first else None
    if entry is None:
        return () if first == 1 else snapshot.instances_mentioning(key, 0)
    values = (value for event in entry[3] if key in event for value in event)
    scopes = {value for value in values if isinstance(value, int) and value >= _FIRST_KEY}
    held = snapshot.instances_of(t.SCOPE, sorted(scopes)).values()
    return snapshot.those_mentioning(key, sorted({*scopes, *held}))


def _entry_that_used(snapshot: ShardSnapshot, key: int, low: int, high: int) -> list[Any] | None:
    """The last one that began when the key was still free; None where the log begins later."""
    found: list[list[Any]] = []
    while low <= high:
        middle = (low + high) // 2
        block = snapshot.log_from(middle)
        entries = raw_entries(block[1]) if block is not None else []
        if block is None or entries[0][2] > key:
            high = middle - 1
        else:
            found, low = entries, block[0] + 1
    # Of two that began with the same key, the first has used none.
    for entry in found[::-1]:
        if entry[2] <= key:
            return entry
    return None

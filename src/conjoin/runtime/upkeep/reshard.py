"""Resharding: a store with another number of shards, made from one that rests.

What belongs to a correlation key goes to the shard that the key has now; an instance, with all that is inside, stays on
its shard, or goes to shard mod N when there are only N. The keys of records stay; `placement.py` says how they are
found. The log stays with the old store: the new one begins with a log of its own.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from conjoin.errors import InputError
from conjoin.runtime.codec.instance_waits import FIRST
from conjoin.runtime.engine import placement
from conjoin.runtime.engine.business_ids import refuse_unless_one
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.placement import MESSAGE_TABLES, inbox_groups, inbox_rows
from conjoin.runtime.inbox.requests import RULES_SOURCE as INBOX
from conjoin.runtime.notices.sources import SOURCE as NOTICES
from conjoin.runtime.run.due import SOURCE as CATALOG
from conjoin.runtime.run.set_aside import WAITING
from conjoin.runtime.upkeep import copying
from conjoin.runtime.upkeep.copying import OnProgress, Tallies, Tally
from conjoin.runtime.upkeep.retention import SOURCE as RETENTION
from conjoin.store import tables as t
from conjoin.store.opening import create_store
from conjoin.store.port import Head, Store
from conjoin.store.rows import InstanceRow, PositionRow
from conjoin.store.tables import Table

_BY_KEY = (t.MESSAGE, t.APART, t.LOCK)
TASK = "conjoin store reshard"
_FRESH = 1
"""The version of the new shards: their logs begin after it, so replaying them needs a backup, and says so."""


def reshard_store(
    store: Store, shards: int, address: str | Path, on_progress: OnProgress, *, ingest_is_done: bool = False
) -> Tallies:
    """Into a new store. The answer is what both hold, table by table."""
    if store.facts.unique_business_ids:
        refuse_unless_one(shards)
    with store.held(TASK, alone=True), store.frozen() as frozen:
        plan = _Plan(frozen, store.facts.shards, shards)
        plan.refuse_unless_at_rest()
        noted = [frozen.rows(index, t.POSITION) for index in range(plan.old)]
        positions = _merged_positions(noted, ingest_is_done)
        plan.positions = [*positions, *placement.written_generations(plan.generations)]
        facts = store.facts._replace(shards=shards)
        with ExitStack() as stack:
            if isinstance(address, Path):
                address = stack.enter_context(copying.made_whole(address))
            target = stack.enter_context(closing(create_store(address, facts)))
            with copying.filling(target, TASK):
                return plan.fill(target, on_progress)


class _Plan:
    """Where each row of a frozen store goes."""

    def __init__(self, frozen: Any, old: int, new: int) -> None:
        self.old = old
        self.new = new
        self.positions: list[Any] = []
        self._frozen = frozen
        heads = [frozen.head(index) for index in range(old)]
        counter, time = max(head.next_key for head in heads), max(head.time for head in heads)
        self._head = Head(_FRESH, counter, time, 0)
        before = placement.read_generations(frozen.rows(0, t.POSITION), old)
        self.generations = (*before, placement.Generation(before[-1].first + old, new))
        self._found_on = placement.KeyHomes(self.generations).shard_of_record

    def refuse_unless_at_rest(self) -> None:
        """Nothing may be under way between shards: it would arrive where nothing waits for it any more."""
        problems = []
        taken = {(row.sender, index): row.seq for index, row in self._all(t.RECEIVED)}
        waiting = sum(row.seq > taken.get((index, row.receiver), 0) for index, row in self._all(t.OUTBOX))
        if waiting:
            problems.append(f"orders between shards not delivered yet: {waiting}; conjoin store tick delivers them")
        busy = sum(bool(row.busy_with) for _, row in self._all(t.APART))
        if busy and not waiting:
            problems.append(f"subscriptions with a message on its way to them: {busy}; conjoin store tick finishes it")
        aside = sum(row.state == WAITING for _, row in self._all(t.SET_ASIDE))
        if aside:
            problems.append(f"items that are set aside: {aside}; conjoin store set-aside retries or deletes them")
        if self.generations[-1].first + self.new > placement.MOST_NUMBERS:
            problems.append("the numbers of shards are used up: this store has been changed too often")
        if problems:
            raise InputError(problems)

    def _all(self, table: Table) -> Iterator[tuple[int, Any]]:
        for index in range(self.old):
            for row in self._read(index, table):
                yield index, row

    def _read(self, index: int, table: Table) -> Iterator[Any]:
        """A correlation key and an instance may go to different shards: all subscriptions stand apart at first."""
        if table is t.INSTANCE:
            return (InstanceRow(*row[:FIRST]) for row in self._frozen.rows(index, table))
        if table is t.EVIDENCE:
            return (row for row, _ in self._evidence(index))
        return iter(self._frozen.rows(index, t.SUBSCRIPTION if table is t.APART else table))

    def fill(self, target: Store, on_progress: OnProgress) -> Tallies:
        read: Tallies = {table.name: Tally() for table in (*t.STATE, *t.KEPT, *t.CATALOG)}
        for index in range(self.new):
            on_progress(f"filling shard {index + 1} of {self.new}")
            rows: Mapping[Table, Any] = {table: self._rows(index, table) for table in (*t.STATE, *t.KEPT)}
            groups = inbox_groups(self._frozen, self.old, index, self.new)
            target.shard(index).load(self._head, {**rows, t.INBOX_GROUP: groups, t.POSITION: self.positions})
        copying.copy_catalog(self._frozen, target.catalog, read)
        on_progress("comparing")
        for table in (*t.STATE, *t.KEPT):
            for _, row in self._all(table):
                read[table.name].add(table.name, row)
        copying.compare_tallies(target, read, (*t.STATE, *t.KEPT, *t.CATALOG))
        return read

    def _rows(self, index: int, table: Table) -> Iterator[Any]:
        """Those that belong to one of the new shards."""
        for old in range(self.old):
            if table is t.EVIDENCE:
                found = self._evidence(old)
                yield from (row for row, its in found if shard_of(its.correlation_key, self.new) == index)
                continue
            if table in MESSAGE_TABLES:
                yield from inbox_rows(self._frozen, old, table, index, self.new)
                continue
            stays = placement.moved(old, self.new) == index
            if table in _BY_KEY or table is t.TIMER or stays:
                for row in self._read(old, table):
                    if self._goes_to(table, row, old) == index:
                        yield row

    def _evidence(self, old: int) -> Iterator[tuple[Any, Any]]:
        """Each with its message, both tables in the order of the keys. What has lost its message stays behind."""
        messages = iter(self._frozen.rows(old, t.MESSAGE))
        message = next(messages, None)
        for row in self._frozen.rows(old, t.EVIDENCE):
            while message is not None and message.key < row.message_key:
                message = next(messages, None)
            if message is not None and message.key == row.message_key:
                yield row, message

    def _goes_to(self, table: Table, row: Any, old: int) -> int:
        if table in _BY_KEY:
            return shard_of(row.correlation_key, self.new)
        if table is t.TIMER and not row.instance_key:
            return shard_of(row.process_id, self.new)
        shard = placement.moved(old, self.new)
        assert self._found_on(row.key) == shard, f"{table.name} {row.key} would not be found on shard {shard}"
        return shard


def _merged_positions(shards: Sequence[Iterable[PositionRow]], ingest_is_done: bool) -> list[PositionRow]:
    """How far sources were read, when keys may be on any shard.

    A position says what one shard has taken. So all must have come equally far, or the operator who stopped the sources
    must say that they had finished: then what a shard lacks it had nothing to do with, and the furthest position holds
    for all. Anything else would take rows twice, or lose them.
    """
    reached: dict[tuple[str, str], list[str]] = {}
    for rows in shards:
        for row in rows:
            if row.source not in (placement.GENERATION, INBOX, NOTICES):
                reached.setdefault((row.source, row.part), []).append(row.position)
    problems, merged = [], []
    for (source, part), positions in sorted(reached.items()):
        equal = len(positions) == len(shards) and len(set(positions)) == 1
        if source == CATALOG and not equal:
            problems.append("not every shard has seen what was deployed last: run conjoin store tick first")
        elif source not in (CATALOG, RETENTION) and not equal and not ingest_is_done:
            problems.append(
                f"{source}: {part} was not read equally far on every shard:"
                " let the ingest finish its last batch and stop it, then say --ingest-done"
            )
        merged.append(PositionRow(source, part, max(positions, key=_how_far)))
    if problems:
        raise InputError(problems)
    return merged


def _how_far(position: str) -> tuple[int, str]:
    """Numbers as numbers, other texts as they sort."""
    return (int(position), "") if position.isdecimal() else (0, position)

"""Replay: the log of each shard is carried out again, and must give the same events, and then the rows that are there.

It begins with nothing, or with a backup where the head of the log was removed. Store and backup are read at one instant
each, so others may go on writing. A shard is held in memory as a whole while it is replayed. Near misses are compared
without their order, which follows from the order in which things were loaded: they explain a verdict and never decide
one.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import zip_longest
from typing import Any

from conjoin.kernel.verdicts.near_misses import MOST
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.engine.placement import KeyHomes, read_generations
from conjoin.runtime.engine.stored_catalog import CatalogVersions
from conjoin.runtime.replay.from_backup import Snapshot, mail_set_aside
from conjoin.runtime.replay.shard import ReplayedShard
from conjoin.runtime.run.limits import order_text
from conjoin.runtime.run.log import Entry, read_block
from conjoin.runtime.upkeep.copying import Tally
from conjoin.runtime.upkeep.erase import Erased
from conjoin.runtime.upkeep.retention import Cuts
from conjoin.store import tables as t
from conjoin.store.port import Facts, Frozen, Head, Store
from conjoin.store.rows import LogRow, OutboxRow
from conjoin.store.tables import Table

_EXPLAINED = ("MessageDiscarded", "MessageExpired", "MessageRefused")
"""Events with near misses."""
_JSON = ("body", "command", "record", "variables")
_NOT_FROM_LOG = ("crowd", *t.WAIT_COLUMNS)
"""Where a row stands does not follow from the log."""
_A_MESSAGE = '["NewMessage",'
_LONGEST = 160


class Different(Exception):  # noqa: N818 - it is what was looked for, not a failure
    """The log and the store do not agree; the text shows where."""


@dataclass(slots=True)
class Checked:
    """What came of one shard. `removed` rows are gone by retention; `difference` is None if all is the same."""

    shard: int
    versions: int = 0
    rows: int = 0
    removed: int = 0
    hash: str = ""
    difference: str | None = None


def verify_store(
    store: Store, backup: Store | None = None, on_progress: Callable[[str], None] = lambda text: None
) -> list[Checked]:
    shards = store.facts.shards
    with ExitStack() as opened:
        frozen = opened.enter_context(store.frozen())
        catalog = CatalogVersions(frozen, store.facts.profile)
        base = None if backup is None else opened.enter_context(backup.frozen())
        replays = [_Replay(frozen, base, index, store.facts, catalog) for index in range(shards)]
        for replay in replays:
            on_progress(f"replaying shard {replay.checked.shard} of {shards}")
            replay.run()
        for replay in replays:
            replay.compare_mail(replays)
    return [replay.checked for replay in replays]


class _Replay:
    """One shard."""

    def __init__(self, frozen: Frozen, base: Frozen | None, index: int, facts: Facts, catalog: CatalogVersions) -> None:
        self.checked = Checked(index)
        homes = KeyHomes(read_generations(frozen.rows(index, t.POSITION), facts.shards))
        self.shard = ReplayedShard(index, facts, homes)
        self.received: dict[int, int] = {row.sender: row.seq for row in frozen.rows(index, t.RECEIVED)}
        self.snapshot = None if base is None else Snapshot(base, index)
        self._frozen = frozen
        self._catalog = catalog
        self._head: Head = frozen.head(index)
        self._reached = Head(0, 0, 0, 0) if self.snapshot is None else self.snapshot.head
        self._known = -1

    def run(self) -> None:
        try:
            if self.snapshot is not None:
                self.snapshot.fill(self.shard, self._catalog.at(self._catalog.newest))
            for row in self._frozen.rows(self.checked.shard, t.LOG):
                if row.version > self._reached.version:
                    self._commit(row)
            head, reached = self._head, self._reached
            if reached.version != head.version:
                raise Different(f"the log ends at version {reached.version}, and the shard is at {head.version}")
            # A commit that carried nothing out may have followed the keys of another shard.
            if (reached.time, reached.sent) != (head.time, head.sent) or reached.next_key > head.next_key:
                raise Different(f"the shard is at {head}, and at {reached} when the log is replayed")
            self._compare_rows()
        except Different as difference:
            self.checked.difference = str(difference)

    def _commit(self, row: LogRow) -> None:
        if row.version != self._reached.version + 1:
            raise Different(_gap(self._reached.version, row.version, self.snapshot is not None))
        if row.at < self._reached.time:
            raise Different(f"version {row.version}: time goes back from {self._reached.time} to {row.at}")
        if row.catalog_version != self._known:
            self.shard.learn(self._catalog.at(row.catalog_version))
            self._known = row.catalog_version
        try:
            entries = list(read_block(row.block))
        except (ValueError, KeyError, IndexError, TypeError, zlib.error) as error:
            raise Different(f"version {row.version}: the block cannot be read ({error})") from error
        for number, entry in enumerate(entries, 1):
            name = type(getattr(entry.request, "command", entry.request)).__name__
            self._replay(f"version {row.version}, request {number} ({name})", entry)
        self.shard.end_commit(row.at, row.catalog_version)
        self._reached = Head(row.version, self.shard.keys.counter, row.at, self.shard.last_sent)
        self.checked.versions += 1

    def _replay(self, place: str, entry: Entry) -> None:
        if entry.next_key < self.shard.keys.next:
            raise Different(f"{place}: the keys go back from {self.shard.keys.next} to {entry.next_key}")
        logged = [[event.kind, *event.values.values()] for event in entry.events]
        again = self.shard.replay(entry)
        for number, (mine, theirs) in enumerate(zip_longest(logged, again, fillvalue="nothing"), 1):
            if mine != theirs and not (mine[0] in _EXPLAINED and without_order(mine) == without_order(theirs)):
                raise Different(f"{place}: event {number} is {mine} in the log, and {theirs} when it is replayed")

    def _compare_rows(self) -> None:
        tally = Tally()
        positions = list(self._frozen.rows(self.checked.shard, t.POSITION))
        cuts = Cuts(positions)
        for table, expected in self._expected(Erased(positions)):
            found = self._frozen.rows(self.checked.shard, table)
            self.checked.removed += compare(table, expected, found, partial(cuts.may_be_gone, table), tally)
        self.checked.rows, self.checked.hash = tally.rows, tally.hash

    def _expected(self, erased: Erased) -> Iterator[tuple[Table, Iterable[Any]]]:
        keys, instances = self.shard.key_rows, self.shard.instance_rows
        yield t.MESSAGE, erased.with_erased(keys.messages(self._head.time))
        yield t.SUBSCRIPTION, ((row,) for row in keys.subscriptions())
        yield t.LOCK, ((row,) for row in keys.locks())
        yield t.INSTANCE, ((row,) for row in instances.instances())
        index = instances.index()
        for table in (t.JOB, t.TIMER, t.INCIDENT, t.SIGNAL, t.SCOPE):
            yield table, ((row,) for (its, _), row in index.items() if its is table)

    def compare_mail(self, replays: list["_Replay"]) -> None:
        """What others sent here was carried out once each, and what was not taken yet is still in their outboxes."""
        if any(replay.checked.difference is not None for replay in replays):
            return
        try:
            self._compare_taken(replays)
            self._compare_outbox(replays)
        except Different as difference:
            self.checked.difference = str(difference)

    def _compare_taken(self, replays: list["_Replay"]) -> None:
        before = {} if self.snapshot is None else self.snapshot.received
        due = Counter(
            _normal(row.command)
            for sender in replays
            for row in sender.shard.sent
            if row.receiver == self.checked.shard
            and before.get(sender.checked.shard, 0) < row.seq <= self.received.get(sender.checked.shard, 0)
        )
        # What is set aside was taken from its outbox and not carried out; a backup may hold some that was since.
        due += Counter() if self.snapshot is None else Counter(map(_normal, self.snapshot.mail_set_aside))
        due -= Counter(map(_normal, mail_set_aside(self._frozen, self.checked.shard)))
        # In a log a message that was sent on looks as one that a client has published there.
        due = Counter({command: count for command, count in due.items() if not command.startswith(_A_MESSAGE)})
        taken = Counter(map(_normal, self.shard.taken))
        for command, count in ((due - taken) or (taken - due)).items():
            was = "sent and not carried out" if due > taken else "carried out and not sent"
            raise Different(f"an order between shards was {count} times more often {was}: {command}")

    def _compare_outbox(self, replays: list["_Replay"]) -> None:
        index = self.checked.shard
        expected = [(row,) for row in self.shard.sent]
        rows = self._frozen.rows(index, t.OUTBOX)
        found = [row._replace(command=order_text(row.command)) for row in rows]

        def is_taken(row: OutboxRow) -> bool:
            return row.seq <= replays[row.receiver].received.get(index, 0)

        compare(t.OUTBOX, expected, found, is_taken, Tally())


def _normal(command: str) -> str:
    """Numbers are written in one way once they have been read."""
    return json_text(read_json(order_text(command)))


def _gap(reached: int, found: int, from_backup: bool) -> str:
    if reached and not from_backup:
        return f"the log has a hole: version {found} follows {reached}"
    where = f"the backup ends at version {reached}" if from_backup else "its head was removed"
    return f"the log begins at version {found}, and {where}: replay it from a backup that reaches version {found - 1}"


def compare(
    table: Table,
    expected: Iterable[Sequence[Any]],
    found: Iterable[Any],
    may_be_gone: Callable[[Any], bool],
    tally: Tally,
) -> int:
    """What is expected is one or more rows with the same key: any of them will do. Raises `Different`.

    Answers how many rows are not there any more, and need not be.
    """
    wanted = {table.key_of(rows[0]): rows for rows in expected}
    for row in tally.counting(table.name, found):
        rows = wanted.pop(table.key_of(row), None)
        if rows is None:
            raise Different(f"{_name(table, row)} is in the store, and nothing in the log makes it")
        if not any(row == other or _is_same(table, row, other) for other in rows):
            both = zip(table.columns, row, rows[0], strict=True)
            column, mine, theirs = next(it for it in both if it[1] != it[2])
            difference = f"{column} is {_cut(mine)} in the store, and {_cut(theirs)} when the log is replayed"
            raise Different(f"{_name(table, row)}: {difference}")
    for rows in wanted.values():
        if not any(map(may_be_gone, rows)):
            raise Different(f"{_name(table, rows[0])} is not in the store, and the log makes it")
    return len(wanted)


def _is_same(table: Table, row: Any, other: Any) -> bool:
    for column, mine, theirs in zip(table.columns, row, other, strict=True):
        if mine == theirs or column in _NOT_FROM_LOG:
            continue
        if column not in _JSON:
            return False
        mine, theirs = read_json(mine), read_json(theirs)
        if mine != theirs and (column != "record" or without_order(mine) != without_order(theirs)):
            return False
    return True


def without_order(value: Any) -> Any:
    """An event or a record, its near misses sorted. Where there are too many for all of them, they are not compared."""
    if isinstance(value, dict):
        return {name: without_order(it) for name, it in value.items()}
    if not isinstance(value, list):
        return value
    if value and all(isinstance(item, dict) and "kind" in item for item in value):
        return sorted(map(json_text, value)) if len(value) < MOST else "many"
    return list(map(without_order, value))


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _name(table: Table, row: Any) -> str:
    return f"{table.name} {' / '.join(str(part) for part in table.key_of(row))}"

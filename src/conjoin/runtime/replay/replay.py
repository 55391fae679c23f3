"""Replay: the log of each shard is carried out again, and must give the same events, and then the rows that are there.

It begins with nothing, or with a backup where the head of the log was removed. Store and backup are read at one instant
each, so others may go on writing. A shard is held in memory as a whole while it is replayed.
"""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.engine.catalog_versions import CatalogVersions
from conjoin.runtime.engine.key_homes import KeyHomes, read_generations
from conjoin.runtime.replay.from_backup import Snapshot, mail_set_aside
from conjoin.runtime.replay.row_differences import compare, without_order
from conjoin.runtime.replay.shard import ReplayedShard
from conjoin.runtime.run.log import Entry, read_block
from conjoin.runtime.run.travels import order_text
from conjoin.runtime.upkeep.copying import Tally
from conjoin.runtime.upkeep.erase import Erased
from conjoin.runtime.upkeep.retention import Cuts
from conjoin.store import tables as t
from conjoin.store.port import Facts, Head, Store
from conjoin.store.rows import LogRow, OutboxRow
from conjoin.store.tables import Table

Told = Callable[[str], None]
_EXPLAINED = ("MessageDiscarded", "MessageExpired", "MessageRefused")
"""Events with near misses."""


class Different(Exception):  # noqa: N818 - it is what was looked for, not a failure
    """The log and the store do not agree; the text says where."""


@dataclass(slots=True)
class Checked:
    """What came of one shard. `removed` rows are gone by retention; `difference` is None if all is the same."""

    shard: int
    versions: int = 0
    rows: int = 0
    removed: int = 0
    hash: str = ""
    difference: str | None = None


def verify_store(store: Store, backup: Store | None = None, told: Told = lambda text: None) -> list[Checked]:
    shards = store.facts.shards
    with ExitStack() as opened:
        frozen = opened.enter_context(store.frozen())
        catalog = CatalogVersions(frozen, store.facts.profile)
        base = None if backup is None else opened.enter_context(backup.frozen())
        replays = [_Replay(frozen, base, index, store.facts, catalog) for index in range(shards)]
        for replay in replays:
            told(f"replaying shard {replay.checked.shard} of {shards}")
            replay.run()
        for replay in replays:
            replay.compare_post(replays)
    return [replay.checked for replay in replays]


class _Replay:
    """One shard."""

    def __init__(self, frozen: Any, base: Any, index: int, facts: Facts, catalog: CatalogVersions) -> None:
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
            self._compare_head()
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
        for number, entry in enumerate(_entries(row), 1):
            self._replay(f"version {row.version}, request {number} ({_name(entry)})", entry)
        self.shard.end_commit(row.at, row.catalog_version)
        self._reached = Head(row.version, self.shard.keys.counter, row.at, self.shard.last_sent)
        self.checked.versions += 1

    def _replay(self, place: str, entry: Entry) -> None:
        if entry.next_key < self.shard.keys.next:
            raise Different(f"{place}: the keys go back from {self.shard.keys.next} to {entry.next_key}")
        logged = [[event.kind, *event.values.values()] for event in entry.events]
        again = self.shard.replay(entry)
        for index in range(max(len(logged), len(again))):
            mine, theirs = _event(logged, index), _event(again, index)
            if mine != theirs and not (mine[0] in _EXPLAINED and without_order(mine) == without_order(theirs)):
                raise Different(f"{place}: event {index + 1} is {mine} in the log, and {theirs} when it is replayed")

    def _compare_head(self) -> None:
        head, reached = self._head, self._reached
        if reached.version != head.version:
            raise Different(f"the log ends at version {reached.version}, and the shard is at {head.version}")
        # A commit that carried nothing out may have followed the keys of another shard.
        if (reached.time, reached.sent) != (head.time, head.sent) or reached.next_key > head.next_key:
            raise Different(f"the shard is at {head}, and at {reached} when the log is replayed")

    def _compare_rows(self) -> None:
        tally = Tally()
        positions = list(self._frozen.rows(self.checked.shard, t.POSITION))
        cuts = Cuts(positions)
        for table, expected in self._expected(Erased(positions)):
            found = self._frozen.rows(self.checked.shard, table)
            compared = compare(table, expected, found, partial(cuts.may_be_gone, table), tally)
            if compared.difference is not None:
                raise Different(compared.difference)
            self.checked.removed += compared.removed
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

    def compare_post(self, replays: list["_Replay"]) -> None:
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

        compared = compare(t.OUTBOX, expected, found, is_taken, Tally())
        if compared.difference is not None:
            raise Different(compared.difference)


def _entries(row: LogRow) -> list[Entry]:
    try:
        return list(read_block(row.block))
    except (ValueError, KeyError, TypeError, zlib.error) as error:
        raise Different(f"version {row.version}: the block cannot be read ({error})") from error


def _normal(command: str) -> str:
    """Numbers are written in one way once they have been read."""
    return json_text(read_json(order_text(command)))


def _event(events: list[Any], index: int) -> Any:
    return events[index] if index < len(events) else "nothing"


def _name(entry: Entry) -> str:
    request = getattr(entry.request, "command", entry.request)
    return type(request).__name__


def _gap(reached: int, found: int, from_backup: bool) -> str:
    if reached and not from_backup:
        return f"the log has a hole: version {found} follows {reached}"
    where = f"the backup ends at version {reached}" if from_backup else "its head was removed"
    return f"the log begins at version {found}, and {where}: replay it from a backup that reaches version {found - 1}"

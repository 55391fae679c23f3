"""The port: what the runtime asks of a store. SQLite and PostgreSQL answer it alike; one contract suite tries both.

A shard is read and written in one transaction: `begin` takes a snapshot of it, the reads see that snapshot, and
`commit` writes only if nobody else has committed since. Who loses that race loads again; nothing is applied twice.
"""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, Protocol, Self

from conjoin.store import rows as r
from conjoin.store import tables as t
from conjoin.store.catalog import CatalogStore
from conjoin.store.explaining_port import ExplainingSnapshot
from conjoin.store.tables import NarrowUpdate, Table


class Head(NamedTuple):
    """A shard in one row. `version` counts its commits."""

    version: int
    next_key: int
    time: int
    sent: int
    """The last number of its outbox."""


NO_HEAD = "the one row that says how far the shard is cannot be read"

Condition = tuple[str, str, Any]
"""A column, one of = <> < <= > >= in, and a value: a list for `in`; None, which only = and <> know, for nothing."""


@dataclass(frozen=True, slots=True)
class Meets:
    """In the conditions of a list: the column meets all of these, each an operator and a value.

    Operators are = <> < <= > >= (None, which only = and <> know, is nothing), in and not in with a tuple, and like
    with a text in which * stands for any characters, ? for one, and a backslash takes the meaning from both.
    """

    tests: tuple[tuple[str, Any], ...]


def tests_of(value: Any) -> tuple[tuple[str, Any], ...]:
    """What a condition of a list asks of its column."""
    return value.tests if isinstance(value, Meets) else (("in" if isinstance(value, tuple) else "=", value),)


Where = Mapping[str, Any]
"""Conditions of a list, by column: a value, a tuple for any of its values, None for null, `Meets` for comparisons."""


@dataclass(frozen=True, slots=True)
class RowOrder:
    """Of a list: by these columns, then by the key of the table; all of it forward, or all of it backward."""

    columns: tuple[str, ...] = ()
    backward: bool = False


BY_KEY = RowOrder()


class IdHolder(NamedTuple):
    """An active instance that was not called by another, and its business id."""

    business_id: str
    process_id: str
    instance_key: int


Standing = Literal["idle", "busy", "kept"]
"""Of a subscription in a crowd: open, open with a message on its way to it, or the last one closed of its name."""


class KeysWanted(NamedTuple):
    """What `key_rows` will be asked for."""

    tenant_id: str
    keys: tuple[str, ...]
    most: int
    most_waiting: int


class InstancesWanted(NamedTuple):
    """What `instances` will be asked for, or `instances_with`, if it is by the keys of jobs or incidents."""

    by: Table | None
    keys: tuple[int, ...]


WhatIsWanted = Callable[[], Sequence[KeysWanted | InstancesWanted]]


class KeyRows(NamedTuple):
    """Everything stored under some correlation keys that the rules may look at."""

    subscriptions: Sequence[r.SubscriptionRow]
    """Those that stand apart."""
    messages: Sequence[r.MessageRow]
    locks: Sequence[r.LockRow]
    instances: Sequence[r.InstanceRow] = ()
    """Those with subscriptions under these keys in their own rows."""


@dataclass(slots=True)
class Changes:
    """One commit: rows to put (new ones, or in place of those with the same key), keys of rows to drop, and
    some columns of rows that are there.
    """

    head: Head
    put: dict[Table, list[Any]] = field(default_factory=dict)
    drop: dict[Table, list[tuple[Any, ...]]] = field(default_factory=dict)
    update: dict[NarrowUpdate, list[tuple[Any, ...]]] = field(default_factory=dict)

    def are_committed(self, version: int, logged: r.LogRow | None) -> bool | None:
        """By the version that a shard has reached, and what is logged under the one of these; None: it is unknown."""
        if version < self.head.version:
            return False
        ours = [row for row in self.put.get(t.LOG, ()) if row.version == self.head.version]
        return logged == ours[0] if ours and logged is not None else None


class ShardSnapshot(ExplainingSnapshot):
    """One transaction on one shard. All reads see the same instant; the last call is `commit` or `abandon`.

    As a context manager it abandons what is not over at the end of its block.
    """

    def __init__(self, head: Head, end: Callable[[bool], None]) -> None:
        """`end`: the snapshot is over, and whether it failed."""
        self.head = head
        self._open = True
        self._end = end

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.abandon()

    @abstractmethod
    def commit(self, changes: Changes) -> bool:
        """False: somebody else has committed since `begin`; nothing was written."""

    @contextmanager
    def _ending(self, changes: Changes) -> Iterator[None]:
        assert changes.head.version > self.head.version, "a commit has a version of its own"
        assert self._open, "this snapshot is over"
        self._open = False
        try:
            yield
        except BaseException:  # whatever it was, no transaction stays open
            self._end(True)
            raise
        self._end(False)

    @abstractmethod
    def abandon(self) -> None:
        """Nothing is written. One that is over already (a read may have failed) is left as it is."""

    def key_rows(self, tenant_id: str, keys: Sequence[str], most: int, most_waiting: int) -> KeyRows:
        """Of each key its locks, the oldest `most` live messages, `most_waiting` subscriptions apart, open and kept,
        and the instances with some in their own rows.
        """
        places = (self._many(keys), tenant_id)
        return KeyRows(
            self._rows(r.SubscriptionRow, "subscriptions", *places, tenant_id, most_waiting),
            self._rows(r.MessageRow, "messages", *places, most),
            self._rows(r.LockRow, "locks", *places),
            self._rows(r.InstanceRow, "waiting", *places),
        )

    def subscriptions(self, tenant_id: str, key: str, numbers: Sequence[int]) -> Sequence[r.SubscriptionRow]:
        """Those with these numbers (keys of their own) under one correlation key."""
        return self._rows(r.SubscriptionRow, "subscriptions_by_key", self._many(numbers), key, tenant_id)

    def crowd(
        self, kind: Standing, tenant_id: str, key: str, between: tuple[str, str], limit: int
    ) -> Sequence[r.SubscriptionRow]:
        """Of a key with very many subscriptions those that stand between two places in the crowd, in their order."""
        return self._rows(r.SubscriptionRow, f"crowd_{kind}", key, tenant_id, *between, limit)

    def live_messages(self, tenant_id: str, key: str, name: str, after: int, limit: int) -> Sequence[r.MessageRow]:
        """The live messages of one name on one key, oldest first, after a message key."""
        return self._rows(r.MessageRow, "live_messages", key, tenant_id, name, after, limit)

    def held_messages(self, tenant_id: str, key: str) -> Sequence[r.MessageRow]:
        """Those of a key that are held until a busy subscription has answered, oldest first."""
        return self._rows(r.MessageRow, "held_messages", key, tenant_id)

    def messages_with_id(self, tenant_id: str, key: str, name: str, message_id: str) -> Sequence[r.MessageRow]:
        """The live ones, oldest first."""
        return self._rows(r.MessageRow, "messages_with_id", key, tenant_id, name, message_id)

    def messages_with_business_id(
        self, tenant_id: str, business_id: str, after: int, limit: int
    ) -> Sequence[r.MessageRow]:
        """The live ones of any name and key, oldest first, after a message key."""
        return self._rows(r.MessageRow, "messages_with_business_id", business_id, tenant_id, after, limit)

    def id_holders(self, tenant_id: str, business_ids: Sequence[str]) -> Sequence[IdHolder]:
        return self._rows(IdHolder, "id_holders", self._many(business_ids), tenant_id)

    def instances(self, keys: Sequence[int]) -> Sequence[r.InstanceRow]:
        """The active instances with these keys, and the outermost of those that called them."""
        return self._with_outermost(self._rows(r.InstanceRow, "instances", self._many(keys)))

    def instances_with(self, table: Table, keys: Sequence[int]) -> Sequence[r.InstanceRow]:
        """The same of those that these jobs or incidents are in."""
        return self._with_outermost(self._rows(r.InstanceRow, f"instances_with_{table.name}", self._many(keys)))

    def _with_outermost(self, rows: Iterable[r.InstanceRow]) -> Sequence[r.InstanceRow]:
        found = {row.key: row for row in rows}
        outermost = list(dict.fromkeys(row.tree_key for row in found.values() if row.tree_key not in found))
        around = self._rows(r.InstanceRow, "instances", self._many(outermost)) if outermost else ()
        return [row for row in (*found.values(), *around) if row.state == "active"]

    def instances_of(self, table: Table, keys: Sequence[int]) -> Mapping[int, int]:
        """The instance of each job, timer, incident or scope; what is not there is left out."""
        return dict(self._read(f"instances_of_{table.name}", self._many(keys)))

    def instances_mentioning(self, key: int, since: int) -> Sequence[int]:
        """Active instances with a key from `since` on that may hold an element instance with this key."""
        return [found for (found,) in self._read("mentioning", since, key, str(key))]

    def those_mentioning(self, key: int, instances: Sequence[int]) -> Sequence[int]:
        """Of these instances the active ones that may hold an element instance with this key."""
        return [found for (found,) in self._read("mentioning_of", self._many(instances), str(key))]

    def log_ends(self) -> tuple[int, int]:
        """The versions of the first and the last block of the log; 0 where there is none."""
        [(first, last)] = self._read("log_ends")
        return first or 0, last or 0

    def log_from(self, version: int) -> tuple[int, bytes] | None:
        """The first block from a version on that is not empty, and its version."""
        return next(((found, bytes(block)) for found, block in self._read("log_from", version)), None)

    def ready_jobs(self, tenant_id: str, type_: str, limit: int) -> Sequence[r.JobRow]:
        """Those that can be activated, oldest first."""
        return self._rows(r.JobRow, "ready_jobs", type_, tenant_id, limit)

    def due_tables(self, at: int) -> Collection[Table]:
        """Which of timers, jobs and messages have rows that are due. Here and below: what is set aside is not."""
        [found] = self._read("due_tables", at, at, at)
        return [table for table, has in zip((t.TIMER, t.JOB, t.MESSAGE), found, strict=True) if has]

    def due_jobs(self, at: int, limit: int) -> Sequence[r.JobRow]:
        """Those that come back by themselves, the earliest first."""
        return self._rows(r.JobRow, "due_jobs", at, limit)

    def due_timers(self, at: int, limit: int) -> Sequence[r.TimerRow]:
        """By instant and key."""
        return self._rows(r.TimerRow, "due_timers", at, limit)

    def due_messages(self, at: int, limit: int) -> Sequence[r.MessageRow]:
        """Those that leave the buffer or whose id is forgotten, the earliest first."""
        return self._rows(r.MessageRow, "due_messages", at, limit)

    def timers(self, keys: Sequence[int]) -> Sequence[r.TimerRow]:
        """The earliest first; the same of jobs."""
        return sorted(self._rows(r.TimerRow, "timers", self._many(keys)), key=lambda row: (row.due_at, row.key))

    def jobs(self, keys: Sequence[int]) -> Sequence[r.JobRow]:
        return sorted(self._rows(r.JobRow, "jobs", self._many(keys)), key=lambda row: (row.due_at or 0, row.key))

    def messages(self, keys: Sequence[int]) -> Sequence[r.MessageRow]:
        return self._rows(r.MessageRow, "messages_by_key", self._many(keys))

    def set_aside(self, keys: Sequence[int]) -> Sequence[r.SetAsideRow]:
        return self._rows(r.SetAsideRow, "set_aside", self._many(keys))

    def dead_letters(self, keys: Sequence[int]) -> Sequence[r.DeadLetterRow]:
        return self._rows(r.DeadLetterRow, "dead_letters", self._many(keys))

    def set_aside_of(self, kind: str, item_key: int) -> Sequence[r.SetAsideRow]:
        return self._rows(r.SetAsideRow, "set_aside_of", kind, item_key)

    def set_aside_due(self, at: int, limit: int) -> Sequence[int]:
        """The keys of those that are to be retried automatically, the earliest first."""
        return [key for (key,) in self._read("set_aside_due", at, limit)]

    def set_aside_gone(self, limit: int) -> Sequence[int]:
        """The keys of those that wait, and whose timer, job or message is gone, or due later than it was tried."""
        return [key for (key,) in self._read("set_aside_gone", limit)]

    def set_aside_count(self) -> int:
        """How many wait for an operator or a retry."""
        [(count,)] = self._read("set_aside_count")
        return int(count)

    def start_timers(self, tenant_id: str, process_id: str) -> Sequence[r.TimerRow]:
        return self._rows(r.TimerRow, "start_timers", process_id, tenant_id)

    def signal_instances(self, tenant_id: str, name: str) -> Sequence[int]:
        return [key for (key,) in self._read("signal_instances", name, tenant_id)]

    def outbox(self, receiver: int, after: int, limit: int) -> Sequence[r.OutboxRow]:
        return self._rows(r.OutboxRow, "outbox", receiver, after, limit)

    def receivers(self) -> Sequence[int]:
        """The shards with mail in the outbox."""
        return [receiver for (receiver,) in self._read("receivers")]

    def received(self) -> Mapping[int, int]:
        """The last number taken from each other shard."""
        return dict(self._read("received"))

    def position(self, source: str) -> Mapping[str, str]:
        """How far each part of a source was read."""
        return dict(self._read("position", source))

    def positions(self, source: str, parts: Sequence[str]) -> Mapping[str, str]:
        """The same for some parts of a source that may have very many (files)."""
        return dict(self._read("positions", self._many(parts), source))


class ShardStore(Protocol):
    """One shard of a store."""

    index: int

    def begin(self, *, locked: bool = False, wanted: WhatIsWanted = tuple) -> ShardSnapshot:
        """`locked`: no other commits until this one has; for those who have lost too many races.

        `wanted`: what will be read first. Where a database is far away, it comes with the answer to the beginning.
        """

    def reader(self) -> "ShardStore":
        """The same shard with a connection of its own, for another thread for instance."""

    def log(self, after: int = 0, limit: int | None = None) -> Iterator[r.LogRow]: ...

    def scan(self, table: str, columns: Sequence[str], where: Sequence[Condition] = ()) -> Iterator[tuple[Any, ...]]:
        """A table by its name, streamed as of one instant, in no order: these columns of rows that meet all of it."""

    def load(self, head: Head, rows: Mapping[Table, Iterable[Any]]) -> None:
        """Fill an empty shard, as fast as it goes: all of it or nothing."""

    def keep_evidence(self, rows: Sequence[r.EvidenceRow]) -> None:
        """A small transaction that is no commit: the shard's head and log stay as they are. For a reader.

        What was seen first stays, a link that is 0 changes nothing, and a message that is gone is left out.
        """

    def trouble(self) -> Exception | None:
        """What failed lately of what is done beside the commits, and is tried again; told once. For any thread."""

    def close(self) -> None: ...


class Frozen(Protocol):
    """All shards and the catalog at one instant. Rows are streamed, in the order of their keys."""

    def head(self, shard: int) -> Head: ...

    def rows(self, shard: int, table: Table) -> Iterator[Any]: ...

    def catalog_rows(self, table: Table) -> Iterator[Any]: ...


class Facts(NamedTuple):
    """What was chosen when the store was made; it does not change by itself."""

    shards: int
    profile: str
    schema: int
    unique_business_ids: bool


class Store(Protocol):
    address: str
    """Where another process finds it."""
    facts: Facts
    lists_go_on: bool
    """Lists leave out a shard that cannot be read, for a server; else they fail. One database is read or not."""

    @property
    def catalog(self) -> CatalogStore: ...

    def shard(self, index: int) -> ShardStore: ...

    def rows(
        self, table: Table, where: Where, after: tuple[Any, ...] | None, limit: int, order: RowOrder = BY_KEY
    ) -> Iterable[Any]:
        """For lists: rows of all shards by key, those after a key, that meet the conditions.

        Columns of an order must not be null; `after` then begins with their values.
        """

    def count(self, table: Table, where: Where, most: int) -> int:
        """How many rows there are of these; it looks no further than `most`."""

    def frozen(self) -> AbstractContextManager[Frozen]:
        """For a backup, beside the commits of others."""

    def held(self, task: str, *, alone: bool = False) -> AbstractContextManager[None]:
        """Others are kept from what must not run beside this: `alone`, or beside all who are not. A crash ends it.

        Raises StoreInUse, with who is in the way and what they do.
        """

    def check_held(self) -> None:
        """What is held and was lost is taken again. Raises StoreInUse where another process has the store by now: then
        nothing is written here until it is done.
        """

    def close(self) -> None: ...

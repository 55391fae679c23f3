"""One shard on PostgreSQL: a schema with the tables of a shard, found by the search path of its connections.

A snapshot is a REPEATABLE READ transaction. Each commit writes the shard's one row, so of two that began with the
same version the server refuses the second. What is sent in a commit is one trip to the server and back.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg.errors import DeadlockDetected, SerializationFailure
from psycopg.pq import TransactionStatus

from conjoin.errors import StoreDamaged
from conjoin.fault_points import passing
from conjoin.store import tables as t
from conjoin.store.port import (
    NO_HEAD,
    Changes,
    Condition,
    Head,
    InstancesWanted,
    KeyRows,
    KeysWanted,
    ShardSnapshot,
    WhatIsWanted,
)
from conjoin.store.postgres.arrays import TYPE_NAMES, number_array, text_array
from conjoin.store.postgres.commit_outcome import was_committed
from conjoin.store.postgres.connections import Connection, Connections, is_usable, stoppable, translated_errors
from conjoin.store.postgres.dialect import DIALECT, SQL
from conjoin.store.postgres.whole_tables import scan
from conjoin.store.postgres.writes import SeenRows, puts, writes
from conjoin.store.rows import EvidenceRow, InstanceRow, LockRow, LogRow, MessageRow
from conjoin.store.sql.message_parts import FILL, KnownParts
from conjoin.store.tables import Table

_BEGIN = "begin isolation level repeatable read"
# Unlike the lock of a row it is taken before there is a snapshot, so that the snapshot is newer than the last commit.
_LOCK = "lock table shard in exclusive mode"
_NOT_COMMITTED = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
_PAGE_ROWS = 1000


class PostgresShard:
    def __init__(self, index: int, connections: Connections, check_held: Callable[[], None]) -> None:
        """`check_held` raises where writing is not allowed."""
        self.index = index
        self.check_held = check_held
        self.connections = connections
        self.place = f"{self.connections.place} (shard {index})"
        self._connection: Connection | None = None
        self._snapshot: PostgresSnapshot | None = None
        self._begun = 0
        self.parts = KnownParts()

    def begin(self, *, locked: bool = False, wanted: WhatIsWanted = tuple) -> "PostgresSnapshot":
        assert self._snapshot is None, "one snapshot of a shard at a time"
        connection = self._connected()
        try:
            self._begun += 1
            with translated_errors(self.place), connection.pipeline():
                connection.execute(_BEGIN)
                if locked:
                    connection.execute(_LOCK)
                # In the first, the second, the fourth and so on: a plan made for an empty table would do to find
                # the oldest of a key by walking all, and stay when the table has grown.
                if self._begun & (self._begun - 1) == 0:
                    connection.execute("discard plans")
                found = connection.execute(SQL["head"], prepare=True)
                asked = {it: _ask_for(connection, it) for it in wanted()}
            heads = found.fetchall()
            if not heads:
                raise StoreDamaged(self.place, NO_HEAD)
        except BaseException:  # whatever it was, the state of the connection is unknown
            self.end(True)
            raise
        self._snapshot = PostgresSnapshot(self, connection, Head._make(heads[0]), asked)
        return self._snapshot

    def reader(self) -> "PostgresShard":
        return PostgresShard(self.index, self.connections, self.check_held)

    def end(self, failed: bool) -> None:
        """The snapshot is over. After a failure the state of the connection is unknown."""
        self._snapshot = None
        if failed and self._connection is not None:
            self._connection.close()

    def log(self, after: int = 0, limit: int | None = None) -> Iterator[LogRow]:
        statement, parameters = DIALECT.list_rows(t.LOG, after=(after,), limit=limit)
        with self.connections.borrow() as connection:
            for row in connection.cursor().stream(statement, parameters, size=_PAGE_ROWS):
                yield LogRow._make(row)

    def scan(self, table: str, columns: Sequence[str], where: Sequence[Condition] = ()) -> Iterator[tuple[Any, ...]]:
        return scan(self.connections, table, columns, where)

    def load(self, head: Head, rows: Mapping[Table, Iterable[Any]]) -> None:
        """Truncated and filled in one transaction, the rows are not visited again by a vacuum."""
        with self.connections.borrow() as connection:
            with connection.transaction():
                moved = connection.execute(SQL["move_head"], (*head, 0)).rowcount
                assert moved == 1, f"{self.place} is not empty"
                for table, some in rows.items():
                    _copy(connection, table, some)
                for statement in FILL:
                    connection.execute(statement)
            connection.execute(f"analyze {', '.join(table.name for table in rows)}")

    def keep_evidence(self, rows: Sequence[EvidenceRow]) -> None:
        self.check_held()
        with self.connections.borrow() as connection, connection.transaction(), connection.pipeline():
            for row in rows:
                connection.execute(SQL["keep_evidence"], (*row, row.message_key))

    def trouble(self) -> None:
        """Nothing is done beside the commits but by the server."""

    def close(self) -> None:
        """A connection in the middle of a transaction is not handed on."""
        connection, self._connection = self._connection, None
        snapshot, self._snapshot = self._snapshot, None
        if connection is not None and snapshot is None:
            self.connections.give_back(connection)
        elif connection is not None:
            connection.close()

    def _connected(self) -> Connection:
        if self._connection is None or not is_usable(self._connection):
            self._connection = self.connections.take()
        return self._connection


_Answers = tuple["psycopg.Cursor[tuple[Any, ...]]", ...]
_OF_KEYS = ("subscriptions", "messages", "locks", "waiting")


def _ask_for(connection: Connection, wanted: KeysWanted | InstancesWanted) -> _Answers:
    """Within a pipeline, so that it takes one trip, however much it is."""
    return (
        _ask_for_keys(connection, wanted) if isinstance(wanted, KeysWanted) else _ask_for_instances(connection, wanted)
    )


def _ask_for_instances(connection: Connection, wanted: InstancesWanted) -> _Answers:
    name = "instances" if wanted.by is None else f"instances_with_{wanted.by.name}"
    return (connection.execute(SQL[name], (number_array(list(wanted.keys)),), prepare=True, binary=True),)


def _ask_for_keys(connection: Connection, wanted: KeysWanted) -> _Answers:
    """What lies under some correlation keys; within a pipeline, so that it takes one trip."""
    places = (text_array(wanted.keys), wanted.tenant_id)
    limits = {"subscriptions": (wanted.most_waiting,), "messages": (wanted.most,)}
    return tuple(
        connection.execute(SQL[name], (*places, *limits.get(name, ())), prepare=True, binary=True) for name in _OF_KEYS
    )


class PostgresSnapshot(ShardSnapshot):
    def __init__(
        self,
        shard: PostgresShard,
        connection: Connection,
        head: Head,
        asked: Mapping[KeysWanted | InstancesWanted, _Answers],
    ) -> None:
        super().__init__(head, shard.end)
        self._shard = shard
        self._connection = connection
        self._asked = dict(asked)
        self._seen = SeenRows()

    def key_rows(self, tenant_id: str, keys: Sequence[str], most: int, most_waiting: int) -> KeyRows:
        wanted = KeysWanted(tenant_id, tuple(keys), most, most_waiting)
        answers = self._asked.pop(wanted, None)
        if answers is None:
            with self._reading(), self._connection.pipeline():
                answers = _ask_for_keys(self._connection, wanted)
        subscriptions, messages, locks, waiting = (answer.fetchall() for answer in answers)
        found = KeyRows(
            self._seen.note(t.APART, subscriptions),
            list(map(MessageRow._make, messages)),
            list(map(LockRow._make, locks)),
            self._seen.note(t.INSTANCE, waiting),
        )
        if len(found.subscriptions) >= most_waiting:
            counts = Counter(row.correlation_key for row in found.subscriptions)
            keys = [key for key in keys if counts[key] < most_waiting]
        self._seen.note_whole(tenant_id, keys)
        return found

    def instances(self, keys: Sequence[int]) -> Sequence[InstanceRow]:
        return self._instances(InstancesWanted(None, tuple(dict.fromkeys(keys))))

    def instances_with(self, table: Table, keys: Sequence[int]) -> Sequence[InstanceRow]:
        return self._instances(InstancesWanted(table, tuple(dict.fromkeys(keys))))

    def _instances(self, wanted: InstancesWanted) -> Sequence[InstanceRow]:
        if not wanted.keys:
            return []
        answers = self._asked.pop(wanted, None)
        with self._reading():
            [answer] = answers or _ask_for_instances(self._connection, wanted)
            return self._seen.note(t.INSTANCE, answer.fetchall())

    def abandon(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            # Nothing was written, and after a rollback psycopg would prepare every statement anew.
            self._connection.execute("commit")
            self._end(False)
        except psycopg.Error:
            # Without its connection the transaction is over, too.
            self._end(True)

    def commit(self, changes: Changes) -> bool:
        """The commit goes out behind the writes; when one of them fails the server skips the rest, and it too."""
        connection = self._connection
        with self._ending(changes), translated_errors(self._shard.place):
            self._shard.check_held()
            parts = self._shard.parts.missing(changes.put.get(t.MESSAGE, ()))
            try:
                with connection.pipeline():
                    connection.execute(SQL["move_head"], (*changes.head, self.head.version), prepare=True)
                    passing("writing")
                    for statement, parameters in writes(changes, self._seen):
                        connection.execute(statement, parameters, prepare=True)
                    for statement, parameters in puts(t.MESSAGE_PART, parts):
                        connection.execute(statement, parameters, prepare=True)
                    passing("written")
                    connection.execute("commit")
                self._shard.parts.note(parts)
                return True
            except (SerializationFailure, DeadlockDetected):
                connection.execute("rollback")
                return False
            except psycopg.Error:
                if connection.info.transaction_status in _NOT_COMMITTED:
                    raise
                self._end(True)
                return was_committed(self._shard.connections, changes)

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        with self._reading():
            return self._execute(statement, parameters).fetchall()

    def _execute(self, statement: str, parameters: Sequence[Any]) -> psycopg.Cursor[tuple[Any, ...]]:
        return self._connection.execute(SQL[statement], parameters, prepare=True, binary=True)

    def _many(self, values: Sequence[Any]) -> Any:
        return text_array(values) if values and isinstance(values[0], str) else number_array(values)

    @contextmanager
    def _reading(self) -> Iterator[None]:
        assert self._open, "this snapshot is over"
        try:
            with translated_errors(self._shard.place), stoppable(self._connection):
                yield
        except BaseException:  # whatever it was, the state of the connection is unknown
            self._open = False
            self._end(True)
            raise


def _copy(connection: Connection, table: Table, rows: Iterable[Any]) -> None:
    connection.execute(f"truncate {table.name}")
    with connection.cursor().copy(
        f"copy {table.name} ({', '.join(table.columns)}) from stdin (format binary, freeze)"
    ) as copy:
        copy.set_types([TYPE_NAMES[type_] for type_ in table.types])
        for row in rows:
            copy.write_row(row)

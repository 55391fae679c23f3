"""One shard on SQLite: a file of its own, so that two cores commit side by side.

A snapshot is a read transaction that becomes the writing one: SQLite itself refuses it when somebody else has
committed in between. A shard object has one connection for that and gives out one snapshot at a time.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import msgspec

from conjoin.errors import StoreDamaged
from conjoin.fault_points import passing
from conjoin.store import reading
from conjoin.store import tables as t
from conjoin.store.port import NO_HEAD, Changes, Condition, Head, KeyRows, ShardSnapshot, WhatIsWanted
from conjoin.store.rows import EvidenceRow, InstanceRow, LockRow, LogRow, MessageRow, SubscriptionRow
from conjoin.store.sql.message_parts import FILL, KnownParts
from conjoin.store.sqlite import files
from conjoin.store.sqlite.checkpointing import Checkpointing
from conjoin.store.sqlite.commit_outcome import was_committed
from conjoin.store.tables import Table

_SQL = files.DIALECT.statements()
_PUT = {table: files.put_statement(table, rewritten=table is t.INBOX) for table in t.SHARD}
_PUT_PART = files.put_statement(t.MESSAGE_PART)
_DROP = {
    table: f"delete from {table.name} where {' and '.join(f'{column} = ?' for column in table.key)}"
    for table in t.SHARD
}
_UPDATE = {
    it: f"update {it.table.name} set {', '.join(f'{column} = ?' for column in it.columns)}"
    f" where {' and '.join(f'{column} = ?' for column in it.table.key)}"
    for it in t.UPDATES
}
_as_json = msgspec.json.Encoder().encode
_NEW = Head(version=0, next_key=1, time=0, sent=0)
_PAUSE_S = 0.0005
_LOAD_CACHE_KB = 512 * 1024


class SqliteShard:
    def __init__(self, file: Path, index: int, *, synced: bool = True) -> None:
        self.index = index
        self.file = file
        self.errors = files.translated_errors(file)
        self._synced = synced
        self._connection: sqlite3.Connection | None = None
        self._snapshot: SqliteSnapshot | None = None
        self.checkpointing = Checkpointing(file, synced=synced)
        self.parts = KnownParts()

    def create(self) -> None:
        with closing(files.create(self.file, synced=self._synced)) as connection, files.writing(connection, self.file):
            files.take_steps(connection, self.file, "shard")
            connection.execute("insert into shard values (?, ?, ?, ?)", _NEW)

    def migrate(self) -> None:
        with closing(files.connect(self.file)) as connection, files.writing(connection, self.file):
            files.take_steps(connection, self.file, "shard")

    def begin(self, *, locked: bool = False, wanted: WhatIsWanted = tuple) -> "SqliteSnapshot":
        assert self._snapshot is None, "one snapshot of a shard at a time"
        connection = self._connected()
        self.checkpointing.before_transaction(connection)
        if reading.current() is not None:
            files.make_stoppable(connection)
        try:
            with self.errors:
                connection.execute("begin immediate" if locked else "begin")
                head = read_head(connection, self.file)
        except BaseException:  # whatever it was, no transaction stays open
            self.end(True)
            raise
        self._snapshot = SqliteSnapshot(self, connection, head)
        return self._snapshot

    def reader(self) -> "SqliteShard":
        return SqliteShard(self.file, self.index, synced=self._synced)

    def end(self, failed: bool) -> None:
        """The snapshot is over. After a failure the state of the connection is unknown: the next begins a new one."""
        self._snapshot = None
        if failed:
            self.close()

    def log(self, after: int = 0, limit: int | None = None) -> Iterator[LogRow]:
        statement, parameters = files.DIALECT.list_rows(t.LOG, after=(after,), limit=limit)
        with closing(files.connect(self.file)) as connection, files.translated_errors(self.file):
            yield from map(LogRow._make, connection.execute(statement, parameters))

    def scan(self, table: str, columns: Sequence[str], where: Sequence[Condition] = ()) -> Iterator[tuple[Any, ...]]:
        statement, parameters = files.DIALECT.scan(table, columns, where)
        with closing(files.connect(self.file)) as connection, files.translated_errors(self.file):
            yield from connection.execute(statement, files.bound(parameters))

    def load(self, head: Head, rows: Mapping[Table, Iterable[Any]]) -> None:
        """Fast because nothing waits for the disk before the end."""
        with closing(files.connect(self.file, synced=False)) as connection, files.translated_errors(self.file):
            connection.execute("pragma wal_autocheckpoint = 0")
            connection.execute(f"pragma cache_size = -{_LOAD_CACHE_KB}")
            with files.writing(connection, self.file):
                assert read_head(connection, self.file).version == 0, f"{self.file} is not empty"
                connection.execute(_SQL["move_head"], (*head, 0))
                for table, some in rows.items():
                    connection.executemany(_PUT[table], some)
                for statement in FILL:
                    connection.execute(statement)
            connection.execute("pragma synchronous = full")
            connection.execute("pragma wal_checkpoint(truncate)")

    def keep_evidence(self, rows: Sequence[EvidenceRow]) -> None:
        assert self._snapshot is None, "one snapshot of a shard at a time"
        connection = self._connected()
        self.checkpointing.before_transaction(connection)
        try:
            with files.writing(connection, self.file):
                connection.executemany(_SQL["keep_evidence"], [(*row, row.message_key) for row in rows])
        except BaseException:  # whatever it was, the state of the connection is unknown
            self.end(True)
            raise
        self.checkpointing.after_commit()

    def trouble(self) -> Exception | None:
        return self.checkpointing.trouble()

    def close(self) -> None:
        self.checkpointing.close()
        connection, self._connection, self._snapshot = self._connection, None, None
        if connection is not None:
            connection.close()

    def _connected(self) -> sqlite3.Connection:
        if self._connection is None:
            connection = files.connect(self.file, synced=self._synced)
            try:
                files.schema_version(connection, self.file)
            except BaseException:  # whatever it was, no transaction stays open
                connection.close()
                raise
            self._connection = connection
        return self._connection


class SqliteSnapshot(ShardSnapshot):
    def __init__(self, shard: SqliteShard, connection: sqlite3.Connection, head: Head) -> None:
        super().__init__(head, shard.end)
        self._file = shard.file
        self._errors = shard.errors
        self._connection = connection
        self._parts = shard.parts
        self._checkpointing = shard.checkpointing

    def commit(self, changes: Changes) -> bool:
        connection = self._connection
        with self._ending(changes), self._errors:
            if not self._take_turn(changes.head):
                connection.execute("rollback")
                return False
            passing("writing")
            _write(connection, changes)
            parts = self._parts.missing(changes.put.get(t.MESSAGE, ()))
            if parts:
                connection.executemany(_PUT_PART, parts)
            passing("written")
            try:
                connection.execute("commit")
            except sqlite3.OperationalError as error:
                # StoreFailed is raised only if the commit is not there.
                if not files.is_doubtful(error):
                    raise
                # Its lock would keep the next one waiting.
                self._end(True)
                if not was_committed(self._file, changes, error):
                    raise
        self._parts.note(parts)
        self._checkpointing.after_commit()
        return True

    def _take_turn(self, head: Head) -> bool:
        """Become the one who writes; only those whose snapshot is still the newest can."""
        deadline = monotonic() + files.WAIT_S
        while True:
            try:
                return self._connection.execute(_SQL["move_head"], (*head, self.head.version)).rowcount == 1
            except sqlite3.OperationalError as error:
                if error.sqlite_errorcode == sqlite3.SQLITE_BUSY_SNAPSHOT:
                    return False
                # Another process is writing and may still roll back. SQLite does not wait by itself here.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() > deadline:
                    raise
                sleep(_PAUSE_S)

    def abandon(self) -> None:
        if not self._open:
            return
        self._open = False
        try:
            with self._errors:
                self._connection.execute("rollback")
        finally:
            self._end(self._connection.in_transaction)

    def key_rows(self, tenant_id: str, keys: Sequence[str], most: int, most_waiting: int) -> KeyRows:
        if len(keys) != 1:
            return super().key_rows(tenant_id, keys, most, most_waiting)
        place = (keys[0], tenant_id)
        [(apart, messages, locks)] = self._read("has_of_one", *place, *place, *place)
        return KeyRows(
            self._rows(SubscriptionRow, "subscriptions_of_one", *place, most_waiting) if apart else [],
            self._rows(MessageRow, "messages_of_one", *place, most) if messages else [],
            self._rows(LockRow, "locks_of_one", *place) if locks else [],
            self._rows(InstanceRow, "waiting_of_one", *place),
        )

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        assert self._open, "this snapshot is over"
        with self._errors:
            return self._connection.execute(_SQL[statement], parameters).fetchall()

    def _many(self, values: Sequence[Any]) -> str:
        return _as_json(values if isinstance(values, (list, tuple)) else list(values)).decode()


def read_head(connection: sqlite3.Connection, file: Path) -> Head:
    found = connection.execute(_SQL["head"]).fetchone()
    if found is None or not all(isinstance(value, int) for value in found):
        raise StoreDamaged(str(file), NO_HEAD)
    return Head._make(found)


def _write(connection: sqlite3.Connection, changes: Changes) -> None:
    for table, keys in changes.drop.items():
        connection.executemany(_DROP[table], keys)
    for table, rows in changes.put.items():
        connection.executemany(_PUT[table], rows)
    for update, rows in changes.update.items():
        connection.executemany(_UPDATE[update], rows)

"""Copying from one store to another: streamed, tallied on both sides, and compared at the end.

What is read is one instant of the source, so others may go on writing to it. The target is empty and not in use yet.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from itertools import chain
from pathlib import Path
from typing import Any, TypeVar

from conjoin.errors import StoreDamaged, StoreExists
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.store import tables as t
from conjoin.store.catalog import CatalogStore
from conjoin.store.port import Store
from conjoin.store.sqlite.data_folder import system_errors
from conjoin.store.tables import Table

OnProgress = Callable[[str], None]
_SIZE = 16
_ALL = 1 << (8 * _SIZE)
_Row = TypeVar("_Row")


@dataclass(slots=True)
class Tally:
    """How many rows a table has, and a hash of them that does not depend on their order or on the store.

    Each row is hashed by itself and the hashes are added up: a row that is missing, changed or there twice changes the
    sum, and the same rows give the same tally on SQLite and PostgreSQL, in one shard or in five.
    """

    rows: int = 0
    sum: int = 0

    def add(self, name: str, row: Iterable[Any]) -> None:
        """`name` is that of the table: rows of two tables never stand for each other."""
        hashed = blake2b(json_bytes((name, *row)), digest_size=_SIZE).digest()
        self.rows += 1
        self.sum = (self.sum + int.from_bytes(hashed)) % _ALL

    def counting(self, name: str, rows: Iterable[_Row]) -> Iterator[_Row]:
        """The same rows, each tallied as it goes by."""
        for row in rows:
            self.add(name, row)  # type: ignore[arg-type]
            yield row

    @property
    def hash(self) -> str:
        return f"{self.sum:032x}"

    def __str__(self) -> str:
        return f"{self.rows} rows, {self.hash[:16]}"


Tallies = dict[str, Tally]
"""By the name of the table, over all shards."""


def copy_store(source: Store, target: Store, on_progress: OnProgress, task: str) -> Tallies:
    """Everything, the log and the outboxes too; the shards stay what they are. The answer is what was copied."""
    read: Tallies = {table.name: Tally() for table in (*t.SHARD, *t.CATALOG)}
    shards = source.facts.shards
    with filling(target, task):
        with source.frozen() as frozen:
            for index in range(shards):
                on_progress(f"copying shard {index + 1} of {shards}")
                rows = {table: read[table.name].counting(table.name, frozen.rows(index, table)) for table in t.SHARD}
                target.shard(index).load(frozen.head(index), rows)
            copy_catalog(frozen, target.catalog, read)
        on_progress("comparing")
        compare_tallies(target, read, (*t.SHARD, *t.CATALOG))
    return read


def copy_catalog(frozen: Any, target: CatalogStore, read: Tallies) -> None:
    """Version by version, so that its number is the same in the end."""
    rows = {table: list(read[table.name].counting(table.name, frozen.catalog_rows(table))) for table in t.CATALOG}
    resources = {row.digest: row for row in rows[t.RESOURCE]}
    dated = [row for table in (t.DEFINITION, t.POLICY) for row in rows[table]]
    for version in range(1, max((row.catalog_version for row in dated), default=0) + 1):
        definitions = [row for row in rows[t.DEFINITION] if row.catalog_version == version]
        brought = [resources.pop(row.digest) for row in definitions if row.digest in resources]
        policies = [row for row in rows[t.POLICY] if row.catalog_version == version]
        put: Mapping[Table, Sequence[Any]] = {t.RESOURCE: brought, t.DEFINITION: definitions, t.POLICY: policies}
        copied = target.append(version - 1, {table: some for table, some in put.items() if some})
        assert copied, "another process writes to the catalog of a store that is only being made"


def compare_tallies(store: Store, expected: Tallies, tables: Iterable[Table]) -> None:
    with store.frozen() as frozen:
        for table in tables:
            shards = () if table in t.CATALOG else range(store.facts.shards)
            parts = [frozen.rows(index, table) for index in shards] or [frozen.catalog_rows(table)]
            found = Tally()
            for row in chain.from_iterable(parts):
                found.add(table.name, row)
            if found != expected[table.name]:
                sign = f"table {table.name} holds {found}, and should hold {expected[table.name]}"
                raise StoreDamaged(store.address, sign)


@contextmanager
def filling(target: Store, task: str) -> Iterator[None]:
    """Around whatever fills a store: what a crash leaves says that it is half made, wherever it is opened."""
    target.catalog.begin_filling(task)
    yield
    target.catalog.end_filling()


@contextmanager
def made_whole(folder: Path) -> Iterator[Path]:
    """A folder that is there when all of it is: written under another name beside it, and renamed at the end."""
    with system_errors(folder):
        is_taken = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
    if is_taken:
        raise StoreExists(f"{folder} is there already: choose a place that is empty")
    part = folder.with_name(f"{folder.name}.part")
    with system_errors(folder):
        shutil.rmtree(part, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield part
    except BaseException:  # whatever it was, half a copy is not left behind
        shutil.rmtree(part, ignore_errors=True)
        raise
    with system_errors(folder):
        part.rename(folder)
        # The new name is on the disk, too.
        handle = os.open(folder.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)

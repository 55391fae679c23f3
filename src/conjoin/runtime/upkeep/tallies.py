"""Tallies: how many rows a table has, and a hash of them that does not depend on their order or on who holds them.

So the same rows give the same tally on SQLite and PostgreSQL, in one shard or in five. Each row is hashed by itself and
the hashes are added up: a row that is missing, changed or there twice changes the sum.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any, TypeVar

from conjoin.runtime.codec.json_text import json_bytes

_SIZE = 16
_ALL = 1 << (8 * _SIZE)
Row = TypeVar("Row")


class Tally:
    __slots__ = ("rows", "sum")

    def __init__(self) -> None:
        self.rows = 0
        self.sum = 0

    def add(self, name: str, row: Iterable[Any]) -> None:
        """`name` is that of the table: rows of two tables never stand for each other."""
        hashed = blake2b(json_bytes((name, *row)), digest_size=_SIZE).digest()
        self.rows += 1
        self.sum = (self.sum + int.from_bytes(hashed)) % _ALL

    def counting(self, name: str, rows: Iterable[Row]) -> Iterator[Row]:
        """The same rows, each tallied as it goes by."""
        for row in rows:
            self.add(name, row)  # type: ignore[arg-type]
            yield row

    @property
    def hash(self) -> str:
        return f"{self.sum:032x}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tally) and (self.rows, self.sum) == (other.rows, other.sum)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{self.rows} rows, {self.hash[:16]}"

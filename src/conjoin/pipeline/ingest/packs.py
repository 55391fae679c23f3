"""Packs: many rows for one shard, from one part of a source, as one value of a table.

A row of its own in the shuffle costs several times what a row in a pack does. Packs are put in order by the first of
their rows, so only rows that come in the order of their places may share one.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import pyarrow as pa

from conjoin.runtime.ingest.requests import IngestRequest, pack, unpack

MAPPED = pa.schema([("shard", pa.int32()), ("part", pa.string()), ("place", pa.int64()), ("packed", pa.binary())])
IN_PACK = 1_000
_MOST_BYTES = 1 << 20
"""A pack has so many bytes and one row, at most."""
_IGNORED = -(2**63)
"""The place of a pack that is none: it says how many rows nobody wanted."""


class IngestRow(NamedTuple):
    shard: int
    part: str
    place: int
    request: IngestRequest


class Pack(NamedTuple):
    """`place` is that of its first row."""

    shard: int
    part: str
    place: int
    packed: bytes

    @property
    def ignored(self) -> int:
        return int(self.packed) if self.place == _IGNORED else 0


def no_rows(count: int) -> Pack:
    """So many rows that nobody wanted."""
    return Pack(0, "", _IGNORED, str(count).encode())


class Packer:
    """`most` rows in a pack; 1 where rows do not come in order."""

    def __init__(self, most: int) -> None:
        self.full: list[Pack] = []
        self._most = most
        self._open: dict[tuple[int, str], list[tuple[int, IngestRequest]]] = {}
        self._bytes: dict[tuple[int, str], int] = {}

    def add(self, row: IngestRow, size: int) -> None:
        """`size` is what the row had when it was read, in bytes."""
        key = (row.shard, row.part)
        rows = self._open.setdefault(key, [])
        rows.append((row.place, row.request))
        self._bytes[key] = size + (self._bytes[key] if len(rows) > 1 else 0)
        if len(rows) >= self._most or self._bytes[key] >= _MOST_BYTES:
            self._close(key)

    def packs(self) -> list[Pack]:
        """Everything that was added since the last call."""
        for key in list(self._open):
            self._close(key)
        full, self.full = self.full, []
        return full

    def _close(self, key: tuple[int, str]) -> None:
        rows = self._open.pop(key)
        self.full.append(Pack(*key, rows[0][0], pack(rows)))


def rows_of(packs: Iterable[Pack]) -> Iterator[IngestRow]:
    for shard, part, _, packed in packs:
        for place, request in unpack(packed):
            yield IngestRow(shard, part, place, request)

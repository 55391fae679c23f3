"""Rows of a write as `ingest` takes them: each with its position, and its columns as a JSON object.

Instants and dates are in ISO 8601, bytes in base64, decimals with all their digits; records of Kafka are as they are.
"""

from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from itertools import count
from typing import Any, NamedTuple

import pyarrow as pa

from conjoin.pipeline.ingest.frames import HASH_DIGITS, NOWHERE, no_place
from conjoin.pipeline.ingest.tasks import ARRIVED
from conjoin.pipeline.session.arrow_rows import to_batch
from conjoin.pipeline.source.options import WriteOptions
from conjoin.runtime.codec.json_text import json_bytes, json_text

Row = dict[str, Any]
_Arrived = tuple[str, int, int, bytes | None, str | None, str | None]
"""As in `tasks.ARRIVED`."""


class Numbering(NamedTuple):
    """How rows without places of their own are numbered: in which part, from which number on."""

    part: str
    first: int


def arriving(
    batches: Iterable[pa.RecordBatch], request: WriteOptions, numbering: Numbering
) -> Iterator[pa.RecordBatch]:
    read = _record if request.is_kafka else _placed(request) if request.position else _numbered(numbering)
    for batch in batches:
        yield to_batch([read(row) for row in batch.to_pylist(maps_as_pydicts="lossy")], ARRIVED)


def noting_last(batches: Iterable[pa.RecordBatch], reached: dict[str, int]) -> Iterator[pa.RecordBatch]:
    """The same rows; the last place of each part is noted on the way."""
    for batch in batches:
        last = pa.table([batch.column("part"), batch.column("place")], names=["part", "place"]).group_by("part")
        for row in last.aggregate([("place", "max")]).to_pylist():
            reached[row["part"]] = max(row["place_max"], reached.get(row["part"], -1))
        yield batch


def last_places(reached: Iterable[dict[str, int]]) -> dict[str, int]:
    """Of all tasks of a write."""
    found: dict[str, int] = {}
    for task in reached:
        for part, place in task.items():
            found[part] = max(place, found.get(part, -1))
    return found


def _placed(request: WriteOptions) -> Callable[[Row], _Arrived]:
    position, part = request.position or "", request.part

    def read(row: Row) -> _Arrived:
        place = row[position]
        within = "" if part is None or row[part] is None else str(row[part])
        if place is None or place < 0:
            text = json_bytes(row)
            part_of_its_own = f"{within}{NOWHERE}{sha256(text).hexdigest()[:HASH_DIGITS]}"
            return part_of_its_own, 0, 0, text, None, no_place(position)
        return within, 0, place, json_bytes(row), None, None

    return read


def _numbered(numbering: Numbering) -> Callable[[Row], _Arrived]:
    numbers = count(numbering.first)
    return lambda row: (numbering.part, 0, next(numbers), json_bytes(row), None, None)


def _record(row: Row) -> _Arrived:
    at = row["timestamp"]
    headers = row.get("headers")
    record = {
        "topic": row["topic"],
        "partition": row["partition"],
        "offset": row["offset"],
        "timestamp": at and at.isoformat(timespec="milliseconds"),
        "key": _text(row["key"]),
        "headers": None if headers is None else {it["key"]: _text(it["value"]) for it in headers},
    }
    part = f"{row['topic']}-{row['partition']}"
    return part, 0, row["offset"], row["value"], json_text(record), None


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="replace")

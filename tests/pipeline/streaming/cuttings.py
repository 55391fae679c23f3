"""Histories as streams: cut into batches in any way, and what one run of tables says of the same rows."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import fs

from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate.correlate import inputs_of
from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.local.running import prepared
from conjoin.pipeline.correlate.local.types import ARROW_OF
from conjoin.pipeline.streaming.batch_rows import batch_rows_of
from conjoin.pipeline.streaming.batches import BatchSettings, CorrelateBatches
from conjoin.pipeline.streaming.manifest import StateFolder
from conjoin.pipeline.streaming.output_folder import OutputFolder
from tests.pipeline.many import AS_OF, SCHEMAS, Many

Row = dict[str, Any]
Tables = dict[str, list[Row]]
TIME = {"messages": "published_at", "subscriptions": "opened_at", "ends": "ended_at"}
KEPT = ("open", "buffered", "locks", "ids")
OUT = ("verdicts", "correlations", "dead_letters")


def frame(table: str, rows: Iterable[Row]) -> Any:
    columns = (column.split() for column in SCHEMAS[table].split(", "))
    some = list(rows)
    kinds = {name: ARROW_OF["bigint" if kind == "long" else kind] for name, kind in columns}
    arrays = {name: pa.array([row.get(name) for row in some], kind) for name, kind in kinds.items()}
    return LocalFrame(arrays, len(some))


def tables_of(many: Many, rng: Random) -> Tables:
    """Some messages lose their position, if something else tells them from others."""
    found = {name: [dict(row) for row in many.rows(name)] for name in SCHEMAS}
    seen = set()
    for row in found["messages"]:
        rest = str({name: row.get(name) for name in _WITHOUT_POSITION})
        if rest not in seen and rng.random() < 0.2:
            row["position"] = None
        seen.add(rest)
    return found


_WITHOUT_POSITION = [column.split()[0] for column in SCHEMAS["messages"].split(", ") if not column.startswith("pos")]


def cut(tables: Tables, rng: Random, lateness_us: int) -> Iterator[Tables]:
    """In the order of time, each row late by less than the limit, into batches of any size; some are empty."""
    rows = [(name, row) for name in TIME for row in tables[name]]
    delay = max(lateness_us, 1)
    arriving = sorted(rows, key=lambda one: one[1][TIME[one[0]]] + rng.randrange(delay))
    cuts = sorted(rng.randrange(len(rows) + 1) for _ in range(rng.choice([0, 1, 3, 10])))
    for begin, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        batch = defaultdict(list, {name: [] for name in TIME})
        for name, row in arriving[begin:end]:
            batch[name].append(row)
        yield dict(batch)


def stream_of(folder: Path, policies: Policies, lateness_us: int, buckets: int = 5, tasks: int = 2) -> CorrelateBatches:
    here = fs.LocalFileSystem()
    settings = BatchSettings(policies, lateness_us, buckets, tasks, now=lambda: AS_OF)
    return CorrelateBatches(StateFolder(here, f"{folder}/state"), OutputFolder(here, f"{folder}/out"), settings)


def frames(tables: Tables) -> dict[str, Any]:
    return {name: frame(name, tables[name]) for name in TIME}


def play(batches: Iterable[Tables], starts: list[Row], stream: CorrelateBatches) -> None:
    """All batches, and then everything up to the instant of judgement."""
    for number, tables in enumerate(batches):
        stream.take(number, frames(tables) | {"starts": frame("starts", starts)})
    empty = frames({name: [] for name in TIME})
    stream.advance(batch_rows_of(empty, stream.settings.policies, stream.settings.buckets), AS_OF)


def one_run(folder: Path, tables: Tables, policies: Policies) -> None:
    given = frames(tables) | {"starts": frame("starts", tables["starts"])}
    prepared(inputs_of(given, policies, False, AS_OF, None, near=False)).write(str(folder), "parquet", False)


def of_one_run(folder: Path) -> dict[str, list[Row]]:
    """What it says in the words of a stream: a message that still waits has no verdict yet."""
    found = {name: pq.read_table(folder / name).to_pylist() for name in (*OUT, *KEPT)}
    waiting = Counter(map(_told_apart, found["buffered"]))
    final = []
    for row in found["verdicts"]:
        if waiting[_told_apart(row)]:
            waiting[_told_apart(row)] -= 1
        else:
            final.append(row)
    return found | {"verdicts": final}


def of_stream(folder: Path) -> dict[str, list[Row]]:
    return {name: pq.read_table(folder / "out" / name).to_pylist() for name in OUT}


def _told_apart(row: Row) -> str:
    """A message with what is said of it."""
    return str({name: value for name, value in row.items() if name not in ("taken_by", "kept_at")})


def in_words(rows: list[Row], columns: Iterable[str]) -> list[tuple[str, ...]]:
    chosen = list(columns)
    return sorted(tuple(str(row[name]) for name in chosen) for row in rows)

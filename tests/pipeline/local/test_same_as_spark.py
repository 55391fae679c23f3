"""The local engine and Spark write the same tables, row for row: days in a chain, broken rows, every format."""

import json
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from statistics import median
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from conjoin.pipeline.correlate.columns import types_of
from conjoin.pipeline.correlate.first_pass import look_over
from conjoin.pipeline.correlate.job import TableJob, run_job, run_locally
from conjoin.pipeline.correlate.local.first_pass import look_over_files
from conjoin.pipeline.correlate.results import NAMES
from conjoin.pipeline.files.tables import read_table
from tests.cli.tabular import Row, read, write
from tests.oracle.history import generate
from tests.pipeline.many import SCHEMAS, moved

HISTORIES = 40
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TIME = {"messages": "published_at", "subscriptions": "opened_at", "ends": "ended_at"}


def iso(us: int) -> str:
    return (_EPOCH + timedelta(microseconds=us)).isoformat().replace("+00:00", "Z")


def tables(seed: int) -> dict[str, list[Row]]:
    """Histories of the oracle's generator, each in a space of its own. Some lose what tells their rows apart."""
    found: dict[str, list[Row]] = {name: [] for name in SCHEMAS}
    for number in range(HISTORIES):
        history = moved(generate(seed + number, f"{number}/"), number)
        for name, rows in found.items():
            rows += [dict(row) for row in getattr(history, name)]
    for number, row in enumerate(found["messages"]):
        row["note"] = f'line "{number}", with a comma' if number % 3 else None
        if number % 5 == 0:
            row["position"] = None
        if number % 17 == 0 and number:
            row["position"] = found["messages"][number - 1]["position"]
    for number, row in enumerate(found["subscriptions"]):
        if number % 4 == 0:
            row["subscription_id"] = row["instance_id"] = None
    found["messages"] += [dict(row) for row in found["messages"][:20]]
    return found


BROKEN: list[Row] = [
    {"name": "", "published_at": "2026-01-01T00:00:00Z"},
    {"name": " \u2003", "published_at": "2026-01-01T00:00:00Z"},
    {"name": "n", "published_at": "soon", "correlation_key": "k\u0001\"'"},
    {"name": "n", "published_at": None},
    {"name": "n", "published_at": "2026-01-01", "ttl_ms": "for ever"},
    {"name": "n", "published_at": "2026-01-01", "position": "first"},
    {"name": "n", "published_at": "2026-01-01 08:30", "ttl_ms": " 5 "},
    {"name": "n", "published_at": "2026-01-01 08:30:00+02:00"},
    {"name": "n", "published_at": "2026-01-01 08:30:00-0200"},
    {"name": "n", "published_at": "2026-01-01 08:30:00ZZ"},
    {"name": "n", "published_at": "2027-02-01T00:00:00+02:00", "variables": "[1]"},
    {"name": "n" * 40_000, "published_at": "2026-01-01"},
]


def stored(folder: Path, rows: dict[str, list[Row]], file_format: str) -> dict[str, tuple[str, ...]]:
    """Each table as a file; text formats have broken rows as well."""
    paths: dict[str, tuple[str, ...]] = {}
    for name, some in rows.items():
        columns = [column.split()[0] for column in SCHEMAS[name].split(", ")] + (["note"] if name == "messages" else [])
        shown = [{column: row.get(column) for column in columns} for row in some]
        path = folder / f"{name}.{file_format}"
        if file_format == "parquet":
            _write_parquet(path, name, shown)
        else:
            _write_text(path, name, shown, file_format)
        paths[name] = (str(path),)
    return paths


def _write_parquet(path: Path, name: str, rows: list[Row]) -> None:
    kinds = {"string": pa.string(), "timestamp": pa.timestamp("us", "UTC"), "long": pa.int64(), "boolean": pa.bool_()}
    fields = [tuple(column.split()) for column in SCHEMAS[name].split(", ")]
    fields += [("note", "string")] if name == "messages" else []
    arrays = {column: pa.array([row[column] for row in rows], kinds[kind]) for column, kind in fields}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays), path)


def _write_text(path: Path, name: str, rows: list[Row], file_format: str) -> None:
    shown = [{k: iso(v) if k.endswith("_at") and v is not None else v for k, v in row.items()} for row in rows]
    if name == "messages":
        shown += [dict.fromkeys(shown[0]) | row for row in BROKEN]
    write(path, shown, file_format)
    if file_format == "csv":
        path.write_text(path.read_text(encoding="utf-8").replace("\r\n", "\n"), encoding="utf-8")
        bad = ["\n", "too,short\n", '"x, y","q""q"\n'] if name == "messages" else []
    else:
        bad = ["{\n", '{"name": 1} 2\n', "\n", "[]\n", '{"a\\u0001": }\n']
    with path.open("a", encoding="utf-8") as file:
        file.writelines(bad)


def outputs(folder: Path) -> dict[str, Counter[str]]:
    """The rows of every table, in no order."""
    return {name: Counter(_text(row) for row in read(folder / name)) for name in NAMES}


def _text(row: Row) -> str:
    return json.dumps(row, sort_keys=True, default=lambda it: it.isoformat())


def schemas(folder: Path) -> dict[str, Any]:
    found = {}
    for name in NAMES:
        file = min((folder / name).glob("part-*.parquet"))
        found[name] = [(it.name, str(it.type).replace("element", "item")) for it in pq.read_schema(file)]
    return found


def both(spark: SparkSession, folder: Path, **options: Any) -> list[Path]:
    """The same job by either engine."""
    there, here = folder / "spark", folder / "local"
    expected = run_job(spark, TableJob(out=str(there), **options), lambda _: None)
    found = run_locally(TableJob(out=str(here), **options), lambda _: None)
    assert (found.engine, expected.engine) == ("local", "spark")
    for figure in ("tallies", "dead_letters", "later", "rows_in", "rows_out", "as_of", "notes"):
        assert getattr(found, figure) == getattr(expected, figure), figure
    for name, rows in outputs(there).items():
        mine = outputs(here)[name]
        assert (name, sorted((mine - rows).elements())[:3], sorted((rows - mine).elements())[:3]) == (name, [], [])
    return [there, here]


@pytest.mark.parametrize("file_format", ["parquet", "csv", "jsonl"])
def test_two_days_are_the_same_by_either_engine(
    file_format: str, spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    rows = tables(seed)
    noon = int(median(row["published_at"] for row in rows["messages"]))
    first = {n: [r for r in some if n not in _TIME or r[_TIME[n]] <= noon] for n, some in rows.items()}
    second = {n: [r for r in some if n not in _TIME or r[_TIME[n]] > noon] for n, some in rows.items()}
    policies = {"*": {"time_to_live": "1h"}, "3:a": {"dedup": "2d"}}
    inputs = stored(tmp_path / "in1", first, file_format)
    there, here = both(
        spark, tmp_path / "one", inputs=inputs, as_of=iso(noon), policies=policies, file_format=file_format
    )
    if file_format == "parquet":
        assert schemas(here) == schemas(there)
    # What either engine has written is the same text: its tables are told apart in Parquet alone.
    for kept in (there, here) if file_format == "parquet" else (here,):
        inputs = stored(tmp_path / "in2", second, file_format)
        inputs["messages"] += (str(kept / "buffered"),)
        inputs["subscriptions"] += (str(kept / "open"),)
        inputs |= {name: (str(kept / name),) for name in ("locks", "ids")}
        both(spark, tmp_path / f"two-{kept.name}", inputs=inputs, since=iso(noon), policies=policies)


def test_what_is_found_before_is_the_same_by_either_engine(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    job = TableJob(inputs=stored(tmp_path, tables(seed), "parquet"), out=str(tmp_path / "out"))
    frames = {name: read_table(spark, name, paths).rows for name, paths in job.inputs.items()}
    types = {name: types_of(frame) for name, frame in frames.items()}
    expected, found = look_over(frames, types, None, False), look_over_files(job)
    assert found is not None
    assert expected.repeated > 0
    assert expected.starts
    assert (found.as_of, found.repeated, found.longest) == (expected.as_of, expected.repeated, expected.longest)
    assert sorted(map(str, found.starts)) == sorted(map(str, expected.starts))
    whole = [
        run_job(spark, replace(job, out=str(tmp_path / name)), lambda _: None, it)
        for name, it in (("looked over here", found), ("by Spark", None))
    ]
    assert whole[0].tallies == whole[1].tallies
    assert outputs(tmp_path / "looked over here") == outputs(tmp_path / "by Spark")


def test_text_files_and_those_of_elsewhere_are_looked_over_by_spark(tmp_path: Path) -> None:
    inputs = stored(tmp_path, tables(1), "csv")
    assert look_over_files(TableJob(inputs=inputs, out="out")) is None
    assert look_over_files(TableJob(inputs={"messages": (str(tmp_path / "none"),)}, out="out")) is None


def test_no_rows_at_all_are_the_same_by_either_engine(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("name,published_at\n", encoding="utf-8")
    (tmp_path / "s.jsonl").write_text("", encoding="utf-8")
    inputs = {"messages": (str(tmp_path / "m.csv"),), "subscriptions": (str(tmp_path / "s.jsonl"),)}
    there, here = both(spark, tmp_path / "out", inputs=inputs)
    assert schemas(here) == schemas(there)

"""Small tables written and read without Spark, so that the tests do not trust what they test."""

import csv
import gzip
import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]


def write(path: Path, rows: list[Row], file_format: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if file_format == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    else:
        path.write_text(_TEXT[file_format](rows), encoding="utf-8", newline="")
    return path


def _json_lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)))
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


_TEXT = {"jsonl": _json_lines, "csv": _csv}


def zipped(path: Path) -> Path:
    """The same file as path.gz."""
    target = path.with_name(path.name + ".gz")
    target.write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    return target


def read(folder: Path) -> list[Row]:
    """Every row of an output folder, whatever its format."""
    return [row for file in sorted(folder.glob("part-*")) for row in _rows_of(file)]


def _rows_of(file: Path) -> list[Row]:
    if file.suffix == ".parquet":
        return pq.read_table(file).to_pylist()
    if file.suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as lines:
            return list(csv.DictReader(lines))
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]

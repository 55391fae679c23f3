"""Outputs as JSON lines or CSV, as Spark writes them: instants to the microsecond, and nothing left out."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from conjoin.pipeline.correlate.local import instants, values
from conjoin.pipeline.correlate.local.evaluation import as_json
from conjoin.pipeline.correlate.local.reading import as_text
from conjoin.pipeline.correlate.writing.parquet_sink import WrittenFile

_ENDING = {"jsonl": "json", "csv": "csv"}
_QUOTED = (",", '"', "\n", "\r")


def write_text(folder: str, files: Sequence[WrittenFile], file_format: str) -> list[str]:
    """The staged Parquet files of a table in another format; the names of what was written."""
    names = []
    for file in files:
        name = f"{file.name.removesuffix('.parquet')}.{_ENDING[file_format]}"
        table = pq.read_table(f"{folder}/{file.name}").combine_chunks()
        lines = _json_lines(table) if file_format == "jsonl" else _csv_lines(table)
        with Path(folder, name).open("w", encoding="utf-8", newline="") as stream:
            stream.writelines(f"{line}\n" for line in lines)
        Path(folder, file.name).unlink()
        names.append(name)
    return names


def _columns(table: pa.Table) -> list[pa.Array]:
    return [column.combine_chunks() for column in table.columns]


def _json_lines(table: pa.Table) -> Iterator[str]:
    """With the nulls, so that a column that is null in all rows is still there when it is read again."""
    names = [values.json_string(name) for name in table.column_names]
    columns = [as_json(array, instants.to_the_microsecond) for array in _columns(table)]
    for row in zip(*columns, strict=True):
        fields = (f"{name}:{value or 'null'}" for name, value in zip(names, row, strict=True))
        yield f"{{{','.join(fields)}}}"


def _csv_lines(table: pa.Table) -> Iterator[str]:
    yield ",".join(map(_field, table.column_names))
    for row in zip(*(as_text(array).to_pylist() for array in _columns(table)), strict=True):
        yield ",".join(map(_field, row))


def _field(text: str | None) -> str:
    """Nothing for null, quotes around what has to have them, and around nothing at all."""
    if text is None:
        return ""
    if not text or any(sign in text for sign in _QUOTED):
        return '"' + text.replace('"', '""') + '"'
    return text

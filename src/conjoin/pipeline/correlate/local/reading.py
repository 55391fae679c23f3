"""Files of this machine as tables in memory, read as Spark would read them, or `NotLocal`."""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from conjoin.pipeline.correlate.columns import TABLES, is_text, reader_of, types_of
from conjoin.pipeline.correlate.local import instants
from conjoin.pipeline.correlate.local.evaluation import as_json, as_string
from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.local.not_local import NotLocal
from conjoin.pipeline.correlate.local.types import ARROW_OF, LocalType, type_of
from conjoin.pipeline.correlate.local.values import json_string
from conjoin.pipeline.files.column_names import ColumnNames
from conjoin.pipeline.files.json_lines import TEXT, FieldKinds, parsed_lines
from conjoin.pipeline.files.listing import files_here, header_names, one_format

MOST_ROWS = 50_000
"""Of all tables together: more is Spark's, if nobody says otherwise."""
MOST_BYTES = 48 * 1024 * 1024

_PLAIN_NAME = re.compile(r"[\w.-]+", re.ASCII)
_DEAD = ("table", "row", "reason", "detail")


@dataclass(frozen=True)
class LocalTable:
    """`unreadable` has the columns of `dead_letters`."""

    rows: LocalFrame
    unreadable: LocalFrame


class Allowance:
    """How many rows and bytes may still be read; None: as many as there are."""

    def __init__(self, rows: int | None, octets: int | None) -> None:
        self._rows = rows
        self._octets = octets

    def take_rows(self, count: int) -> None:
        if self._rows is not None:
            self._rows -= count
            if self._rows < 0:
                raise NotLocal("there are many rows")

    def take_bytes(self, count: int) -> None:
        if self._octets is not None:
            self._octets -= count
            if self._octets < 0:
                raise NotLocal("the files are large")


def read_locally(
    table: str, paths: Sequence[str], allowance: Allowance, names: ColumnNames | None = None
) -> LocalTable:
    """One table from all its paths, united by column name; a column that one of them lacks is null there."""
    parts = [_read_path(table, path, allowance) for path in paths]
    rows = [part.rows for part in parts]
    if names is not None:
        rows = [frame.named(names.here(table, path, frame.columns)) for frame, path in zip(rows, paths, strict=True)]
    return LocalTable(
        reduce(_united, rows),
        reduce(LocalFrame.union, [part.unreadable for part in parts]),
    )


def _read_path(table: str, path: str, allowance: Allowance) -> LocalTable:
    whole = Path(path).absolute()
    if any((folder / mark).exists() for folder in (whole, *whole.parents) for mark in ("_delta_log", "metadata")):
        raise NotLocal(f"{path} may be of a table of a lake")
    files = files_here(table, path)
    if files is None:
        raise NotLocal(f"{path} is no file or folder of this machine")
    if any(Path(file).parent != Path(path) for file in files if file != str(Path(path))):
        raise NotLocal(f"{path} has folders inside")
    file_format = one_format(table, path, files)
    if file_format is None:
        return LocalTable(_empty(table), _dead(table, [], []))
    for file in files:
        allowance.take_bytes(Path(file).stat().st_size)
    return _READERS[file_format](table, files, allowance)


def _empty(table: str) -> LocalFrame:
    """A run before had no rows of it: text columns with the known names."""
    return LocalFrame({contract.name: pa.nulls(0, pa.string()) for contract in TABLES[table]}, 0)


def _dead(table: str, rows: Sequence[str], details: Sequence[str]) -> LocalFrame:
    values = [[table] * len(rows), rows, ["unreadable"] * len(rows), details]
    arrays = [pa.array(column, pa.string()) for column in values]
    return LocalFrame(dict(zip(_DEAD, arrays, strict=True)), len(rows))


def _detail(why: str, file: str) -> str:
    return f'{{"why":{json_string(why)},"file":{json_string(file)}}}'


def _content(file: str, allowance: Allowance) -> bytes:
    if not _PLAIN_NAME.fullmatch(Path(file).name):
        raise NotLocal(f"the name of {file} has unusual characters")
    octets = Path(file).read_bytes()
    if not file.lower().endswith(".gz"):
        return octets
    try:
        content = gzip.decompress(octets)
    except (OSError, EOFError, zlib.error) as error:
        raise NotLocal(f"{file} is no whole gzip file: {error}") from None
    allowance.take_bytes(len(content))
    return content


def _read_parquet(table: str, files: list[str], allowance: Allowance) -> LocalTable:
    tables = []
    for file in files:
        try:
            with pq.ParquetFile(file) as parquet:
                allowance.take_rows(parquet.metadata.num_rows)
                _check_physical(parquet, file)
                tables.append(parquet.read())
        except (pa.ArrowException, OSError) as error:
            raise NotLocal(f"{file} cannot be read here: {error}") from None
    if any(not one.schema.equals(tables[0].schema) for one in tables):
        raise NotLocal(f"{files[0]} and others have different columns")
    whole = pa.concat_tables(tables).combine_chunks()
    arrays = {name: _plain(name, column) for name, column in zip(whole.column_names, whole.columns, strict=True)}
    if len(arrays) != len(whole.column_names):
        raise NotLocal(f"{files[0]} names a column twice")
    frame = LocalFrame(_without_untyped_nulls(table, arrays, whole), whole.num_rows)
    return LocalTable(frame, _dead(table, [], []))


def _check_physical(parquet: pq.ParquetFile, file: str) -> None:
    for number in range(len(parquet.schema)):
        column = parquet.schema.column(number)
        if column.physical_type == "INT96" or "nanoseconds" in str(column.logical_type):
            raise NotLocal(f"{file}: {column.name} has nanoseconds")


def _plain(name: str, column: pa.ChunkedArray) -> pa.Array:
    """The values in the one Arrow type that stands for what Spark sees in the file."""
    array = column.combine_chunks() if column.num_chunks != 1 else column.chunk(0)
    kind = array.type
    if pa.types.is_dictionary(kind):
        array = array.dictionary_decode()
    if pa.types.is_large_string(array.type):
        array = array.cast(pa.string())
    if pa.types.is_timestamp(array.type):
        array = array.cast(ARROW_OF["timestamp_ntz" if array.type.tz is None else "timestamp"])
    if pa.types.is_null(array.type):
        array = pa.nulls(len(array), pa.int32())
    if pa.types.is_list(array.type):
        array = array.cast(ARROW_OF["array<string>"])
    if array.type not in ARROW_OF.values():
        raise NotLocal(f"column {name} is {kind}")
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        raise NotLocal(f"column {name} has texts that are not UTF-8") from None
    return array


def _without_untyped_nulls(table: str, arrays: dict[str, pa.Array], whole: pa.Table) -> dict[str, pa.Array]:
    """A column of nothing but nulls has no kind of its own in Parquet; Spark calls it int."""
    reads = {contract.name: contract.read for contract in TABLES[table]}
    odd = {
        name
        for name, array in arrays.items()
        if array.type == pa.int32()
        and array.null_count == len(array)
        and name in reads
        and reader_of(reads[name], LocalType("int")) is None
    }
    return {name: array for name, array in arrays.items() if name not in odd}


def _read_json_lines(table: str, files: list[str], allowance: Allowance) -> LocalTable:
    kinds, rows = FieldKinds(), []
    dead: list[tuple[str, str]] = []
    for file in files:
        lines = re.split(rb"\r\n|\n|\r", _content(file, allowance))
        allowance.take_rows(len(lines) - 1)
        for line in parsed_lines(lines, kinds):
            if line is None:
                continue
            if line.fields is None:
                dead.append((line.unreadable or "", _detail(line.why or "", Path(file).name)))
            else:
                rows.append(line.fields)
    arrays = {
        name or "_": _typed(pa.array([row.get(name) for row in rows], pa.string()), kind)
        for name, kind in kinds.types(table).items()
    }
    unreadable = _dead(table, [row for row, _ in dead], [detail for _, detail in dead])
    return LocalTable(LocalFrame(arrays, len(rows)), unreadable)


def _typed(array: pa.Array, kind: str) -> pa.Array:
    """Texts of JSON numbers and truth values as such."""
    return array if kind == TEXT else array.cast(ARROW_OF[kind])


def _read_csv(table: str, files: list[str], allowance: Allowance) -> LocalTable:
    """Files with one header are read together; those with another one are united with them."""
    parts: dict[tuple[str, ...], list[list[str | None]]] = {}
    dead: list[tuple[str, str]] = []
    for file in files:
        rows = _csv_rows(file, allowance)
        if not rows:
            continue
        header = _header(table, file, rows[0][0])
        some = parts.setdefault(header, [])
        for values, raw in rows[1:]:
            if len(values) == len(header):
                some.append([value or None for value in values])
            else:
                dead.append((raw, _detail(f"not {len(header)} values as in the header", Path(file).name)))
    if not parts:
        return LocalTable(_empty(table), _dead(table, [], []))
    frames = [_of_texts(header, rows) for header, rows in parts.items()]
    return LocalTable(reduce(_united, frames), _dead(table, [row for row, _ in dead], [why for _, why in dead]))


def _of_texts(header: tuple[str, ...], rows: list[list[str | None]]) -> LocalFrame:
    columns = zip(*rows, strict=True) if rows else ([] for _ in header)
    arrays = [pa.array(column, pa.string()) for column in columns]
    return LocalFrame(dict(zip(header, arrays, strict=True)), len(rows))


def _csv_rows(file: str, allowance: Allowance) -> list[tuple[list[str], str]]:
    """The values of each row beside its text; the first one is the header. Empty lines count for nothing."""
    try:
        text = _content(file, allowance).decode().removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise NotLocal(f"{file} is not UTF-8") from None
    lines = text.split("\n")
    windows = lines[0].endswith("\r")
    whole = [line.endswith("\r") for line in lines] if windows else []
    if windows:
        text = text.replace("\r\n", "\n")
        lines = text.split("\n")
    if "\r" in text:
        raise NotLocal(f"{file} has lines that end in different ways")
    csv.field_size_limit(2**31 - 1)
    reader, before = csv.reader(io.StringIO(text, newline=""), strict=True), 0
    rows: list[tuple[list[str], str]] = []
    try:
        for values in reader:
            if values:
                allowance.take_rows(1 if rows else 0)
                rows.append((values, "\n".join(lines[before : reader.line_num])))
                if windows and reader.line_num < len(lines) and not whole[reader.line_num - 1]:
                    # Inside quotes, as in exports of texts, a line may end so; for Spark a row does not.
                    raise NotLocal(f"{file} has lines that end in different ways")
                if windows and reader.line_num > before + 1 and len(values) != len(rows[0][0]):
                    raise NotLocal(f"{file}: line {reader.line_num} is the end of a row that does not fit the header")
            before = reader.line_num
    except csv.Error as error:
        raise NotLocal(f"{file}: line {reader.line_num}: {error}") from None
    return rows


def _header(table: str, file: str, names: list[str]) -> tuple[str, ...]:
    if any("\n" in name for name in names):
        raise NotLocal(f"{file} has a header of several lines")
    return header_names(table, file, names)


_READERS = {"parquet": _read_parquet, "jsonl": _read_json_lines, "csv": _read_csv}


def _united(left: LocalFrame, right: LocalFrame) -> LocalFrame:
    """Both tables by name. Columns of the same name and different kinds meet as text, so that nothing is bent."""
    one, two = types_of(left), types_of(right)  # type: ignore[arg-type]
    arrays = {}
    for name in dict.fromkeys((*one, *two)):
        mine = left.arrays.get(name, pa.nulls(left.height))
        theirs = right.arrays.get(name, pa.nulls(right.height))
        arrays[name] = _joined(name, mine, theirs)
    return LocalFrame(arrays, left.height + right.height)


def _joined(name: str, one: pa.Array, two: pa.Array) -> pa.Array:
    if one.type != two.type and not pa.types.is_null(one.type) and not pa.types.is_null(two.type):
        kinds = {type_of(one.type).name, type_of(two.type).name}
        if any(map(is_text, kinds)):
            one, two = as_text(one), as_text(two)
        elif kinds == {"int", "bigint"}:
            one, two = one.cast(pa.int64()), two.cast(pa.int64())
        else:
            raise NotLocal(f"column {name} is {' and '.join(sorted(kinds))}")
    kind = two.type if pa.types.is_null(one.type) else one.type
    return pa.concat_arrays([one.cast(kind), two.cast(kind)])


def as_text(array: pa.Array) -> pa.Array:
    """Values as the text that `correlate` reads back as the same value."""
    if pa.types.is_string(array.type):
        return array
    if pa.types.is_list(array.type):
        return pa.array(as_json(array), pa.string())
    if array.type == ARROW_OF["timestamp"]:
        texts = [None if it is None else instants.to_the_microsecond(it) for it in array.cast(pa.int64()).to_pylist()]
        return pa.array(texts, pa.string())
    return as_string(array)

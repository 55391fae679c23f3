"""Options of a read (which store, table and columns) and of a write (which store, and how rows become messages).

Those of a write mean what the parameters of `ingest` do. What is wrong with them is reported before any task starts.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import types as T
from pyspark.sql.datasource import Filter

from conjoin.errors import InputError
from conjoin.pipeline.ingest.frames import checked_mapping, is_kafka, place_problems
from conjoin.pipeline.source.tables import TABLES
from conjoin.pipeline.source.where import Unreadable, read_where
from conjoin.runtime.codec.json_text import NOT_JSON, json_text, read_client_json
from conjoin.runtime.opening import open_broker

MOST_PARTS = 1_000
OPTIONS = ("path", "url", "table", "columns", "where", "partitions_per_shard", "push_filters")
STREAM_OPTIONS = ("path", "url", "table", "columns", "where", "starting", "max_commits_per_batch", "fail_on_loss")
STREAMED = ("events", "verdicts")
_BEGINNINGS = {"earliest": False, "latest": True}
WRITE_OPTIONS = ("path", "url", "source", "mapping", "position", "part", "in_order")
_OF_SPARK = ("checkpointlocation", "queryname")
"""Of a stream; Spark hands them over with ours, in small letters."""
_TRUTHS = {"true": True, "false": False}
_URLS = ("postgresql://", "postgres://")


class ReadOptions(NamedTuple):
    """What is to be read: a table of the store at an address, these columns of rows that pass all filters.

    Each shard is read in so many parts. `pushes`: Spark may hand over filters of its own.
    """

    address: str
    table: str
    columns: tuple[str, ...]
    filters: tuple[Filter, ...] = ()
    parts: int = 1
    pushes: bool = False

    @property
    def schema(self) -> T.StructType:
        return TABLES[self.table].schema(self.columns)


class StreamOptions(NamedTuple):
    """What a stream reads. `most_commits`: of each shard, so many a batch."""

    read: ReadOptions
    begins_at_end: bool
    most_commits: int | None
    fails_on_loss: bool


def read_options(options: Mapping[str, str]) -> ReadOptions:
    """Raises `InputError` with everything that is wrong with them."""
    problems = [*problems_of_place(options), *_problems_of_table(options), *_problems_of_rest(options)]
    if problems:
        raise InputError(problems)
    return _read_options(options)


def read_schema(options: Mapping[str, str]) -> ReadOptions:
    """Of a table or a stream, whichever the options are for."""
    is_stream = any(name in options for name in STREAM_OPTIONS if name not in OPTIONS)
    return read_stream_options(options).read if is_stream else read_options(options)


def read_stream_options(options: Mapping[str, str]) -> StreamOptions:
    """Raises `InputError` with everything that is wrong with them."""
    problems = [*problems_of_place(options), *_problems_of_table(options), *_problems_of_stream(options)]
    if problems:
        raise InputError(problems)
    most = options.get("max_commits_per_batch")
    begins_at_end = _BEGINNINGS[options.get("starting", "earliest")]
    fails_on_loss = _TRUTHS[options.get("fail_on_loss", "true").lower()]
    return StreamOptions(_read_options(options), begins_at_end, None if most is None else int(most), fails_on_loss)


def _problems_of_stream(options: Mapping[str, str]) -> Iterator[str]:
    table = options.get("table")
    if table in TABLES and table not in STREAMED:
        yield f"the table {table} is no stream; {' and '.join(STREAMED)} are"
    if options.get("starting", "earliest") not in _BEGINNINGS:
        yield f"starting: {options['starting']!r} is neither earliest nor latest"
    most = options.get("max_commits_per_batch", "1")
    if not (most.isascii() and most.isdecimal() and int(most)):
        yield f"max_commits_per_batch: {most!r} is no whole number above 0"
    if options.get("fail_on_loss", "true").lower() not in _TRUTHS:
        yield f"fail_on_loss: {options['fail_on_loss']!r} is neither true nor false"
    for name in options:
        if name not in STREAM_OPTIONS:
            yield f"there is no option {name!r} of a stream, but {', '.join(STREAM_OPTIONS)}"


def _read_options(options: Mapping[str, str]) -> ReadOptions:
    table = options["table"]
    known = TABLES[table].columns
    columns = _listed(options["columns"]) if "columns" in options else tuple(known)
    filters = tuple(read_where(options["where"], known)) if "where" in options else ()
    parts, pushes = int(options.get("partitions_per_shard", "1")), _TRUTHS[options.get("push_filters", "false").lower()]
    return ReadOptions(address_in(options), table, columns, filters, parts, pushes)


def with_schema(request: ReadOptions, schema: T.StructType) -> ReadOptions:
    """The columns that a schema names, which may be the user's own. Raises `InputError` if the table has others."""
    known = TABLES[request.table].columns
    problems = list(_unknown_columns(request.table, schema.names))
    for name in schema.names:
        wanted = schema[name].dataType.simpleString()
        if name in known and wanted != (its := known[name].kind.spark.simpleString()):
            problems.append(f"the column {name} of {request.table} is {its}, and not {wanted}")
    if problems:
        raise InputError(problems)
    return request._replace(columns=tuple(schema.names))


def check_store(address: str) -> None:
    """Raises what opening it raises, StoreMissing for instance."""
    with closing(open_broker(address)):
        pass


def address_in(options: Mapping[str, str]) -> str:
    return options.get("url") or address_for_tasks(options["path"])


def address_for_tasks(address: str) -> str:
    """Tasks may run in another folder than whoever plans them."""
    return address if "://" in address else str(Path(address).absolute())


def problems_of_place(options: Mapping[str, str]) -> Iterator[str]:
    path, url = options.get("path"), options.get("url")
    if path and url:
        yield "the options path and url name two stores: give one of them"
    elif not path and not url:
        yield "no store is named: give its folder as option path, or its postgresql:// address as option url"
    elif path and "://" in path:
        yield "the option path is the folder of a store; a postgresql:// address is the option url"
    elif url and not url.startswith(_URLS):
        yield "the option url is no postgresql:// address; the folder of a store is the option path"


def _problems_of_table(options: Mapping[str, str]) -> Iterator[str]:
    table = options.get("table")
    if not table:
        yield f"no table is named: give the option table, one of {', '.join(TABLES)}"
    elif table not in TABLES:
        yield f"there is no table {table!r}, but {', '.join(TABLES)}"
    else:
        yield from _unknown_columns(table, _listed(options["columns"])) if "columns" in options else ()
        yield from _problems_of_where(options["where"], table) if "where" in options else ()


def _problems_of_where(text: str, table: str) -> Iterator[str]:
    try:
        read_where(text, TABLES[table].columns)
    except Unreadable as problem:
        yield f"where: {problem}"


def _problems_of_rest(options: Mapping[str, str]) -> Iterator[str]:
    parts = options.get("partitions_per_shard", "1")
    if not (parts.isascii() and parts.isdecimal() and 0 < int(parts) <= MOST_PARTS):
        yield f"partitions_per_shard: {parts!r} is no whole number from 1 to {MOST_PARTS}"
    if options.get("push_filters", "false").lower() not in _TRUTHS:
        yield f"push_filters: {options['push_filters']!r} is neither true nor false"
    for name in options:
        if name not in OPTIONS:
            yield f"there is no option {name!r}, but {', '.join(OPTIONS)}"


def _listed(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(","))


def _unknown_columns(table: str, names: Sequence[str]) -> Iterator[str]:
    known = TABLES[table].columns
    for name in names:
        if name not in known:
            yield f"{table} have no column {name!r}, but {', '.join(known)}"
    if len(set(names)) < len(names):
        yield f"a column is named twice: {', '.join(names)}"


class WriteOptions(NamedTuple):
    """Where rows go, and how they are read. `mapping` is JSON; None: a row has the fields of a message.

    `position` and `part` are columns; neither: rows are records of Kafka, or known by the batch of their stream.
    `in_order`: in that of their positions over all tasks.
    """

    address: str
    source: str
    mapping: str | None
    position: str | None
    part: str | None
    is_kafka: bool
    in_order: bool = False


def read_write_options(
    options: Mapping[str, str], schema: T.StructType, *, overwrite: bool, is_stream: bool = False
) -> WriteOptions:
    """Raises `InputError` with everything that is wrong with them."""
    problems = ["mode: a message that was published stays published, so a write can only append"] if overwrite else []
    problems += problems_of_place(options)
    problems += _problems_of_write(options)
    position, part = options.get("position"), options.get("part")
    kafka = position is None and is_kafka(schema.names)
    if not kafka and not (is_stream and position is None and part is None):
        problems += place_problems(schema, position, part)
    mapping = _mapping(options.get("mapping"), problems)
    if problems:
        raise InputError(problems)
    in_order = _TRUTHS[options.get("in_order", "false").lower()]
    return WriteOptions(address_in(options), options["source"], mapping, position, part, kafka, in_order)


def _problems_of_write(options: Mapping[str, str]) -> Iterator[str]:
    if not options.get("source"):
        yield "source: give what is written a name; what was published is known to the store under it"
    if options.get("in_order", "false").lower() not in _TRUTHS:
        yield f"in_order: {options['in_order']!r} is neither true nor false"
    for name in options:
        if name not in (*WRITE_OPTIONS, *_OF_SPARK):
            yield f"there is no option {name!r}, but {', '.join(WRITE_OPTIONS)}"


def _mapping(text: str | None, problems: list[str]) -> str | None:
    """The path of a YAML file, or the mapping itself as a JSON object."""
    if text is None:
        return None
    try:
        given = read_client_json(text) if text.lstrip().startswith("{") else Path(text)
        return json_text(checked_mapping(given))
    except NOT_JSON as error:
        problems.append(f"mapping: is not JSON: {error}")
    except InputError as error:
        problems += [f"mapping: {problem}" for problem in error.problems]
    return None

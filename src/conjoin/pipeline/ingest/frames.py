"""Any DataFrame as a source: its rows as JSON objects, with columns that say where each row stands.

The position is what makes it exactly once: `part` is a column that names the part of the source (none: there is one),
`position` one that grows within a part. Records of Kafka have both: a partition is a part, an offset a position;
expressions see the record as `kafka`.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.errors import InputError
from conjoin.pipeline.ingest.arrivals import Into
from conjoin.pipeline.ingest.batch import Arrivals, Ingest, Ingested
from conjoin.runtime.ingest.mapping import for_tasks, load_mapping, written_mapping
from conjoin.runtime.opening import open_broker

_COLUMNS = {"key", "value", "topic", "partition", "offset", "timestamp"}
# Of headers with the same name the last one counts, as in Kafka's own clients; a map with both would be refused.
_HEADERS = """map_from_entries(transform(array_distinct(headers.key), name ->
    struct(name, cast(element_at(filter(headers, h -> h.key = name), -1).value as string))))"""
_NO_HEADERS = "cast(null as map<string, string>)"


def is_kafka(columns: Sequence[str]) -> bool:
    return set(columns) >= _COLUMNS


def arrived_rows(
    frame: DataFrame,
    part: Column,
    place: Column,
    value: Column,
    *,
    block: Column | None = None,
    envelope: Column | None = None,
    problem: Column | None = None,
) -> DataFrame:
    """As in `tasks.ARRIVED`; by default a part is one block, and a row has neither an envelope nor a problem."""
    return frame.select(
        part.alias("part"),
        (F.lit(0) if block is None else block).cast("bigint").alias("block"),
        place.cast("bigint").alias("place"),
        value.cast("binary").alias("value"),
        (F.lit(None) if envelope is None else envelope).cast("string").alias("envelope"),
        (F.lit(None) if problem is None else problem).cast("string").alias("problem"),
    )


def as_json(columns: Sequence[str]) -> Column:
    """A row as an object."""
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), {"ignoreNullFields": "false"})


def kafka_arrivals(frame: DataFrame) -> Arrivals:
    """A task reads offsets of a partition in their order, and no other task has the same."""
    record = F.struct(
        "topic",
        "partition",
        "offset",
        F.date_format("timestamp", "yyyy-MM-dd'T'HH:mm:ss.SSSXXX").alias("timestamp"),
        F.col("key").cast("string").alias("key"),
        F.expr(_HEADERS if "headers" in frame.columns else _NO_HEADERS).alias("headers"),
    )
    part, envelope = F.concat_ws("-", "topic", "partition"), F.to_json(record, {"ignoreNullFields": "false"})
    return Arrivals(arrived_rows(frame, part, F.col("offset"), F.col("value"), envelope=envelope))


NOWHERE = "nowhere-"
"""Behind the name of a part, before the beginning of a row's SHA-256: a row that does not say where it stands is told
from others by what it says, so that each is a dead letter, once."""
HASH_DIGITS = 16
_WHOLE = (T.ByteType, T.ShortType, T.IntegerType, T.LongType)


def ingest(
    frame: DataFrame,
    store: str | Path,
    source: str,
    mapping: Mapping[str, object] | str | Path | None = None,
    *,
    position: str | None = None,
    part: str | None = None,
    into: Into | None = None,
) -> Ingested:
    """Publish every row of a DataFrame to a store; rows of this source that were published before are not again.

    `store` is a data directory or the URL of a PostgreSQL store; `mapping` a dictionary or the path of a YAML file.
    With `into` a channel of the inbox takes the rows, by its own mapping, and its schedule offers them.
    In a stream, call it in `foreachBatch`: the source's positions make a repeated batch harmless.
    """
    written = None if mapping is None else checked_mapping(mapping)
    arrivals = frame_arrivals(frame, position, part)
    with closing(open_broker(store)) as broker:
        return Ingest(broker, source, written, into=into).take(arrivals)


def checked_mapping(mapping: Mapping[str, object] | str | Path) -> dict[str, object]:
    """As tasks take it. Raises `InputError` for one that will not do."""
    if isinstance(mapping, Mapping):
        return for_tasks(mapping)
    load_mapping(Path(mapping))
    return for_tasks(written_mapping(Path(mapping)))


def frame_arrivals(frame: DataFrame, position: str | None, part: str | None) -> Arrivals:
    """What happened to a frame before is not known, so neither is the order of its rows."""
    if position is None and is_kafka(frame.columns):
        return kafka_arrivals(frame)._replace(in_order=False)
    problems = place_problems(frame.schema, position, part)
    if problems:
        raise InputError(problems)
    place = F.col(f"`{position}`").cast("bigint")
    within = F.lit("") if part is None else F.coalesce(F.col(f"`{part}`").cast("string"), F.lit(""))
    is_nowhere = F.coalesce(place < 0, F.lit(True))
    value = as_json(frame.columns)
    nowhere = F.concat(within, F.lit(NOWHERE), F.substring(F.sha2(value, 256), 1, HASH_DIGITS))
    rows = arrived_rows(
        frame,
        F.when(is_nowhere, nowhere).otherwise(within),
        F.when(is_nowhere, F.lit(0)).otherwise(place),
        value,
        problem=F.when(is_nowhere, F.lit(no_place(position))),
    )
    return Arrivals(rows, in_order=False)


def place_problems(schema: T.StructType, position: str | None, part: str | None) -> list[str]:
    """What is wrong with the columns that say where rows stand."""
    problems = [f"there is no column {name!r}" for name in (position, part) if name and name not in schema.names]
    if position is None:
        problems.append("position: name the column that tells rows apart and grows, or nothing can be exactly once")
    elif not problems and not isinstance(schema[position].dataType, _WHOLE):
        problems.append(f"position: {position} is not a column of whole numbers")
    return problems


def no_place(position: str | None) -> str:
    """Why a row is a dead letter that does not say where it stands."""
    return f"its position {position} is null or negative"

"""Any DataFrame as a source: its rows as JSON objects, with columns that say where each row stands.

The place is what makes it exactly once: `part` is a column that names the part of the source (none: there is one),
`position` one that grows within a part. Records of Kafka have both already.
"""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from conjoin.errors import InputError
from conjoin.pipeline.ingest.arrivals import Into
from conjoin.pipeline.ingest.batch import Arrivals, Ingest, Ingested
from conjoin.pipeline.ingest.kafka import is_kafka, kafka_arrivals
from conjoin.runtime.ingest.mapping import load_mapping, read_mapping, written_mapping
from conjoin.runtime.opening import open_broker

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
    said = None if mapping is None else said_mapping(mapping)
    arrivals = frame_arrivals(frame, position, part)
    with closing(open_broker(store)) as broker:
        return Ingest(broker, source, said, into=into).take(arrivals)


def said_mapping(mapping: Mapping[str, object] | str | Path) -> dict[str, object]:
    """As it was written. Raises `InputError` for one that will not do."""
    if isinstance(mapping, Mapping):
        read_mapping(mapping)
        return dict(mapping)
    load_mapping(Path(mapping))
    return written_mapping(Path(mapping))


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
    value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in frame.columns)), {"ignoreNullFields": "false"})
    nowhere = F.concat(within, F.lit(NOWHERE), F.substring(F.sha2(value, 256), 1, HASH_DIGITS))
    rows = frame.select(
        F.when(is_nowhere, nowhere).otherwise(within).alias("part"),
        F.lit(0).cast("bigint").alias("block"),
        F.when(is_nowhere, F.lit(0)).otherwise(place).alias("place"),
        value.cast("binary").alias("value"),
        F.lit(None).cast("string").alias("envelope"),
        F.when(is_nowhere, F.lit(no_place(position))).alias("problem"),
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

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
    said = None if mapping is None else _said(mapping)
    arrivals = frame_arrivals(frame, position, part)
    with closing(open_broker(store)) as broker:
        return Ingest(broker, source, said, into=into).take(arrivals)


def _said(mapping: Mapping[str, object] | str | Path) -> dict[str, object]:
    if isinstance(mapping, Mapping):
        read_mapping(mapping)
        return dict(mapping)
    load_mapping(Path(mapping))
    return written_mapping(Path(mapping))


def frame_arrivals(frame: DataFrame, position: str | None, part: str | None) -> Arrivals:
    """What happened to a frame before is not known, so neither is the order of its rows."""
    if position is None and is_kafka(frame):
        return kafka_arrivals(frame)._replace(in_order=False)
    problems = [f"there is no column {name!r}" for name in (position, part) if name and name not in frame.columns]
    if position is None:
        problems.append("position: name the column that tells rows apart and grows, or nothing can be exactly once")
    elif not problems and not isinstance(frame.schema[position].dataType, _WHOLE):
        problems.append(f"position: {position} is not a column of whole numbers")
    if problems:
        raise InputError(problems)
    value = F.to_json(F.struct(*(F.col(f"`{name}`") for name in frame.columns)), {"ignoreNullFields": "false"})
    rows = frame.select(
        (F.lit("") if part is None else F.col(f"`{part}`").cast("string")).alias("part"),
        F.lit(0).cast("bigint").alias("block"),
        F.col(f"`{position}`").cast("bigint").alias("place"),
        value.cast("binary").alias("value"),
        F.lit(None).cast("string").alias("envelope"),
        F.lit(None).cast("string").alias("problem"),
    )
    return Arrivals(rows, in_order=False)

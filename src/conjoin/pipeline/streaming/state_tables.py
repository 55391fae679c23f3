"""A state as the tables that a run of tables keeps: `open`, `buffered`, `locks`, `ids`; to look at, or to go on from.

`pending` are the rows after `as_of`, in the one shape of all tables.
"""

from typing import TYPE_CHECKING

from conjoin.pipeline.correlate.columns import quoted
from conjoin.pipeline.correlate.results import BUFFERED, KEPT, LOCKED, OPENED, REMEMBERED
from conjoin.pipeline.correlate.shape import ID, KIND, LOCK, NOT_INTERRUPTING, OPEN, PUBLISH, SLOT_OF
from conjoin.pipeline.streaming.manifest import BUCKETS, StateFolder
from conjoin.pipeline.streaming.state_rows import BUCKET, DUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from conjoin.pipeline.streaming.batch_rows import ShapedRows

PENDING = "pending"
_KIND = f"(kind & {KIND})"
_FOLDED = f"(kept is not null or {_KIND} in ({LOCK}, {ID}))"
_LISTS = {"correlated_to": "prior_correlated_to", "taken_by": "taken_by"}


def state_tables(shaped: "ShapedRows", state: StateFolder, address: str) -> "dict[str, DataFrame]":
    """As they were at the last commit. `address` is the folder as Spark reads it."""
    spark, last = shaped.frame.sparkSession, state.latest()
    names = [] if last is None else [file.name for file in last.buckets.values()]
    rows = _rows(spark, shaped, [f"{address.rstrip('/')}/{BUCKETS}/{name}" for name in names])
    tables = {BUFFERED: _buffered(rows.where(f"{_KIND} = {PUBLISH} and {_FOLDED}"), shaped)}
    for table, number in ((OPENED, OPEN), (LOCKED, LOCK), (REMEMBERED, ID)):
        some = rows.where(f"{_KIND} = {number} and {_FOLDED}")
        tables[table] = some.selectExpr(*(f"{_value(table, name)} as {name}" for name in KEPT[table]))
    return tables | {PENDING: rows.where(f"not {_FOLDED}").drop(DUE)}


def _rows(spark: "SparkSession", shaped: "ShapedRows", files: list[str]) -> "DataFrame":
    from pyspark.sql import types as T

    fields = [field for field in shaped.frame.schema.fields if field.name not in ("fault", BUCKET)]
    schema = T.StructType([*fields, T.StructField(DUE, T.LongType())])
    return spark.read.schema(schema).parquet(*files) if files else spark.createDataFrame([], schema)


def _value(table: str, name: str) -> str:
    if name == "interrupting":
        return f"kind & {NOT_INTERRUPTING} = 0"
    slot = "kept" if (table, name) == (REMEMBERED, "published_at") else SLOT_OF[name]
    return f"timestamp_micros({slot})" if name.endswith("_at") else slot


def _buffered(rows: "DataFrame", shaped: "ShapedRows") -> "DataFrame":
    slots = shaped.layout.slots
    columns = {name: "timestamp_micros(at)" if slot == "at" else quoted(slot) for name, slot in slots.items()}
    columns |= {name: f"prior_{name}" for name in ("verdict", "reason", "detail", "decided_at")}
    columns |= {name: f"from_json({slot}, 'array<string>')" for name, slot in _LISTS.items()}
    columns["kept_at"] = "timestamp_micros(kept)"
    return rows.selectExpr(*(f"{text} as {quoted(name)}" for name, text in columns.items()))

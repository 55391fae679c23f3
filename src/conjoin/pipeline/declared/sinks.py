"""Sinks: the rows of a batch into any format that Spark has. Plain functions of a DataFrame and its batch.

files          a folder `stream=S/batch=N` inside the path, replaced if the batch comes again: exactly once
Delta          appended as the transaction N of its application: exactly once
Iceberg        appended as a snapshot that says which batch it is: exactly once
a store        published, with the number of each row as its position: exactly once
anything else  appended: at least once, if the process dies between the writing and the note of it
"""

from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.correlate.columns import quoted
from conjoin.pipeline.correlate.results import VERDICTS
from conjoin.pipeline.declared.file import FILES, KAFKA, STORE, DeclaredSink
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of, spark_says

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NOTICES = "notices"
NUMBER = "conjoin_number"
"""Which of all rows that were ever written of an output a row is; only a store needs it."""
_ICEBERG, _SNAPSHOT = "iceberg", "conjoin"
_LOST = ("expired", "short", "discarded")
"""Verdicts of messages that nobody took, or too few."""


class SinkBatch(NamedTuple):
    """Which batch of which state it is, and for which sink. Each state counts its batches from 0."""

    number: int
    state: str
    sink: str

    @property
    def application(self) -> str:
        """So that a lake can tell whether it has the batch."""
        return f"conjoin {self.state} {self.sink}"


def table_of(rows: str) -> str:
    """From which output the rows of a sink come."""
    return VERDICTS if rows == NOTICES else rows


def noticed(verdicts: "DataFrame") -> "DataFrame":
    """Messages that were lost, as notices have them."""
    lost = verdicts.where(F.col("verdict").isin(*_LOST))
    return lost.withColumn("kind", F.expr("if(verdict = 'short', 'expired', verdict)"))


def wanted_of(frame: "DataFrame", sink: DeclaredSink) -> "DataFrame":
    """The rows and columns that a sink asks for."""
    if sink.rows == NOTICES:
        frame = noticed(frame)
    number = [NUMBER] if NUMBER in frame.columns else []
    try:
        if sink.where:
            frame = frame.where(sink.where)
        if sink.columns:
            frame = frame.selectExpr(*(f"{text} as {quoted(name)}" for name, text in sink.columns.items()), *number)
    except SPARK_ERRORS as error:
        raise InputError([f"sink of {sink.rows}: {spark_says(error)}"]) from None
    return frame


def write_batch(frame: "DataFrame", sink: DeclaredSink, batch: SinkBatch) -> None:
    """Rows as they are wanted, to where they are wanted. The session knows the format."""
    spark = frame.sparkSession
    options = dict(sink.options)
    if sink.format == KAFKA and "value" not in sink.columns:
        frame = as_records(frame)
    if sink.format == STORE:
        options = {"source": batch.application} | options | {"position": NUMBER}
    elif sink.format == "delta":
        options |= {"txnAppId": batch.application, "txnVersion": str(batch.number)}
    elif sink.format == _ICEBERG:
        options[f"snapshot-property.{_SNAPSHOT}"] = f"{batch.application} {batch.number}"
        if _has_snapshot(spark, sink, batch):
            return
    writer = frame.write.options(**options)
    if sink.format in FILES:
        folder = f"{sink.path.rstrip('/')}/{_folder_of(sink, batch)}"
        writer.format(FILES[sink.format]).mode("overwrite").save(path_of(spark, folder))
        return
    if sink.format:
        writer = writer.format(sink.format)
    writer = writer.mode("append")
    if sink.table:
        writer.saveAsTable(sink.table)
    elif sink.path:
        writer.save(path_of(spark, sink.path))
    else:
        writer.save()


def _folder_of(sink: DeclaredSink, batch: SinkBatch) -> str:
    """Without the path, which may be spelled in other ways. The letter keeps digits alone from being a number."""
    told = sha256(f"{batch.state} {sink.rows} {sink.format}".encode()).hexdigest()
    return f"stream=s{told[:12]}/batch={batch.number}"


def as_records(frame: "DataFrame") -> "DataFrame":
    """For Kafka: the correlation key as the key, all columns as JSON."""
    columns = [F.col(f"`{name}`") for name in frame.columns]
    key = F.col("correlation_key").cast("string") if "correlation_key" in frame.columns else F.lit(None).cast("string")
    return frame.select(key.alias("key"), F.to_json(F.struct(*columns)).alias("value"))


def _has_snapshot(spark: "SparkSession", sink: DeclaredSink, batch: SinkBatch) -> bool:
    """Was this batch appended by a process that died before it could note it?"""
    if sink.table and not spark.catalog.tableExists(sink.table):
        return False
    place = f"{sink.table}.snapshots" if sink.table else f"{path_of(spark, sink.path)}#snapshots"
    snapshots = spark.read.format(_ICEBERG).load(place)
    told = F.col("summary").getItem(_SNAPSHOT)
    return not snapshots.where(told == f"{batch.application} {batch.number}").isEmpty()

"""Sinks: the rows of a batch into any format that Spark has. Plain functions of a DataFrame and its batch.

files          a folder `batch=N` inside the path, replaced if the batch comes again: exactly once
Delta          appended as the transaction N of its application: exactly once
anything else  appended: at least once, if the process dies between the writing and the note of it
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from conjoin.pipeline.correlate.results import VERDICTS
from conjoin.pipeline.declared.file import FILES, KAFKA, DeclaredSink
from conjoin.pipeline.session.session import path_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NOTICES = "notices"
_LOST = ("expired", "short", "discarded")
"""Verdicts of messages that nobody took, or too few."""


def table_of(rows: str) -> str:
    """From which output the rows of a sink come."""
    return VERDICTS if rows == NOTICES else rows


def noticed(verdicts: "DataFrame") -> "DataFrame":
    """Messages that were lost, as notices have them."""
    lost = verdicts.where(F.col("verdict").isin(*_LOST))
    return lost.withColumn("kind", F.expr("if(verdict = 'short', 'expired', verdict)"))


def write_batch(frame: "DataFrame", sink: DeclaredSink, batch: int, application: str) -> None:
    """`application` names the stream: with the batch's number it tells a lake whether it has it."""
    if sink.format == KAFKA:
        frame = as_records(frame)
    writer = frame.write.options(**sink.options)
    if sink.format in FILES:
        folder = f"{sink.path.rstrip('/')}/batch={batch}"
        writer.format(FILES[sink.format]).mode("overwrite").save(path_of(frame.sparkSession, folder))
        return
    if sink.format == "delta":
        writer = writer.option("txnAppId", application).option("txnVersion", batch)
    if sink.format:
        writer = writer.format(sink.format)
    writer = writer.mode("append")
    if sink.table:
        writer.saveAsTable(sink.table)
    elif sink.path:
        writer.save(path_of(frame.sparkSession, sink.path))
    else:
        writer.save()


def as_records(frame: "DataFrame") -> "DataFrame":
    """For Kafka: the correlation key as the key, all columns as JSON."""
    columns = [F.col(f"`{name}`") for name in frame.columns]
    key = F.col("correlation_key").cast("string") if "correlation_key" in frame.columns else F.lit(None).cast("string")
    return frame.select(key.alias("key"), F.to_json(F.struct(*columns)).alias("value"))

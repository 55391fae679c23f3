"""Sources: files, tables, Kafka, Delta, or any format that Spark has, as a stream or as they are now. Plain functions.

frame = mapped(read_source(spark, source), source)
"""

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.correlate.columns import quoted
from conjoin.pipeline.declared.file import FILES, KAFKA, STORE, DeclaredSource
from conjoin.pipeline.declared.option_secrets import says
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of, spark_says
from conjoin.runtime.ingest.kafka_options import kafka_options
from conjoin.shown_urls import shown_url

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_OF_FILES = {"csv": {"header": "true"}, "json": {}, "parquet": {}}


def read_source(spark: "SparkSession", source: DeclaredSource) -> "DataFrame":
    """The rows as they come: a stream, or a table."""
    kind = FILES.get(source.kind, source.kind)
    reader = spark.readStream if source.stream else spark.read
    options = _OF_FILES.get(kind, {}) | source.options
    if kind == KAFKA:
        options = kafka_options(source.options, is_stream=source.stream)
    elif kind == STORE:
        from conjoin.pipeline.source import register

        register(spark)
    try:
        if source.table:
            return reader.options(**options).table(source.table)
        configured = reader.format(kind).options(**options)
        if kind != KAFKA and source.types:
            configured = configured.schema(source.types)
        elif kind == "parquet" and source.stream:
            # A stream of files does not look into them by itself.
            configured = configured.schema(spark.read.parquet(path_of(spark, source.path)).schema)
        return configured.load(path_of(spark, source.path)) if source.path else configured.load()
    except SPARK_ERRORS as error:
        where = shown_url(source.path) or source.table or source.format
        raise InputError([f"{where}: {says(error, source.options)}"]) from None


def mapped(frame: "DataFrame", source: DeclaredSource) -> "DataFrame":
    """Rows that are wanted, with the columns that `columns` names. Of a record of Kafka expressions see the fields of
    its value, and the record as `kafka`."""
    if source.kind == KAFKA:
        frame = opened_records(frame, source.types)
    try:
        if source.where:
            frame = frame.where(source.where)
        if source.columns:
            frame = frame.selectExpr(*(f"{text} as {quoted(name)}" for name, text in source.columns.items()))
        elif source.kind == KAFKA:
            # Otherwise it would travel along as a column of messages.
            frame = frame.drop("kafka")
    except SPARK_ERRORS as error:
        raise InputError([spark_says(error)]) from None
    return frame


def opened_records(frame: "DataFrame", types: str) -> "DataFrame":
    """The fields of a value, which is JSON, beside the record. One that is no JSON has none of them."""
    text = F.col("value").cast("string")
    names = [name for name in frame.columns if name not in ("key", "value")]
    record = F.struct(F.col("key").cast("string").alias("key"), text.alias("value"), *names).alias("kafka")
    if not types:
        return frame.select(record)
    return frame.select(F.from_json(text, types).alias("row"), record).select("row.*", "kafka")

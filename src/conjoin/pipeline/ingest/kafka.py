"""Records of Kafka as arrivals: a partition is a part, an offset a place. Expressions see the record as `kafka`."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamReader

from conjoin.pipeline.ingest.batch import Arrivals

_COLUMNS = {"key", "value", "topic", "partition", "offset", "timestamp"}
OFFSETS_AT_ONCE = 200_000
# Of headers with the same name the last one counts, as in Kafka's own clients; a map with both would be refused.
_HEADERS = """map_from_entries(transform(array_distinct(headers.key), name ->
    struct(name, cast(element_at(filter(headers, h -> h.key = name), -1).value as string))))"""
_NO_HEADERS = "cast(null as map<string, string>)"


def is_kafka(columns: Sequence[str]) -> bool:
    return set(columns) >= _COLUMNS


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
    rows = frame.select(
        F.concat_ws("-", "topic", "partition").alias("part"),
        F.lit(0).cast("bigint").alias("block"),
        F.col("offset").alias("place"),
        "value",
        F.to_json(record, {"ignoreNullFields": "false"}).alias("envelope"),
        F.lit(None).cast("string").alias("problem"),
    )
    return Arrivals(rows)


def kafka_reader(spark: SparkSession, servers: str, topic: str, most: int = OFFSETS_AT_ONCE) -> DataStreamReader:
    """All of a topic, from its beginning; how far it was read is known to the checkpoint, and to the store."""
    return (
        spark.readStream.format("kafka")
        .option("kafka.bootstrap.servers", servers)
        .option("subscribe", topic)
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", most)
        .option("includeHeaders", True)
        # What the broker has deleted cannot be waited for; a stopped stream would lose more.
        .option("failOnDataLoss", False)
    )

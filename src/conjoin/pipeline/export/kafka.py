"""Events as records of a Kafka topic: each at least once, in the order of its shard, under an id that stays the same.

Spark's sink cannot take records back: a run that dies is repeated from where the last one ended, and what it had sent
comes again with the same ids. How far it came is in a folder of its own, and noted when all records have been taken.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.export.exporting import Exported, Step
from conjoin.pipeline.export.ranges import CommitRange, check_still_there, next_ranges
from conjoin.pipeline.export.target import EVENTS, Committed, opened_folder, write_json
from conjoin.pipeline.export.writing import read_events
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.source import register
from conjoin.pipeline.source.options import check_store
from conjoin.shown_urls import shown_url

KAFKA = "kafka"
_NOTED = "_sent.json"


@dataclass(frozen=True, slots=True)
class KafkaOrder:
    """The events of the store at an address to `kafka://HOST:PORT,.../TOPIC`; what was sent is noted in a folder."""

    address: str
    url: str
    folder: Path

    @property
    def servers(self) -> str:
        return urlsplit(self.url).netloc

    @property
    def topic(self) -> str:
        return urlsplit(self.url).path.strip("/")


def check_kafka_order(order: KafkaOrder) -> None:
    """What can be seen to be wrong before Spark is started."""
    if urlsplit(order.url).scheme != KAFKA or not order.servers or not order.topic or "/" in order.topic:
        raise InputError([f"--to: {shown_url(order.url)!r} is no topic such as kafka://localhost:9092/events"])
    check_store(order.address)


def export_to_kafka(spark: SparkSession, order: KafkaOrder, step: Step = lambda text: None) -> Exported:
    """Raises `InputError` for what will not do, and what opening the store raises."""
    check_kafka_order(order)
    folder = order.folder.absolute()
    with opened_folder(folder, KAFKA) as parts, spark_errors():
        noted = _noted(folder / _NOTED, order.topic)
        ranges, notes = next_ranges(order.address, noted)
        step(f"sending {EVENTS}")
        exported = Exported({EVENTS: _send(spark, order, ranges) if ranges else 0}, notes)
        check_still_there(order.address, ranges)
        noted |= {it.shard: Committed(it.last, it.fingerprint) for it in ranges}
        write_json(parts / _NOTED, folder / _NOTED, {"topic": order.topic, "shards": noted})
    return exported


def _send(spark: SparkSession, order: KafkaOrder, ranges: Sequence[CommitRange]) -> int:
    """A shard is one task and one key, so its records stay in their order."""
    register(spark)
    events = read_events(spark, order.address, ranges).sortWithinPartitions("version", "number")
    event_id = F.concat_ws("-", "shard", "version", "number").cast("binary")
    records = events.select(
        F.col("shard").cast("string").cast("binary").alias("key"),
        F.to_json(F.struct("*"), {"ignoreNullFields": "false"}).cast("binary").alias("value"),
        F.array(F.struct(F.lit("id").alias("key"), event_id.alias("value"))).alias("headers"),
    )
    # The sink answers no observation, so records are counted beforehand, and kept so that the log is read once.
    kept = records.persist()
    try:
        count = kept.count()
        at = {"kafka.bootstrap.servers": order.servers, "topic": order.topic}
        kept.write.format(KAFKA).options(**at).save()
    finally:
        kept.unpersist()
    return count


def _noted(file: Path, topic: str) -> dict[int, Committed]:
    if not file.exists():
        return {}
    noted = json.loads(file.read_text(encoding="utf-8"))
    if noted["topic"] != topic:
        raise InputError([f"--checkpoint: {file.parent} is for the topic {noted['topic']!r}: give each its own"])
    return {int(shard): Committed(*committed) for shard, committed in noted["shards"].items()}

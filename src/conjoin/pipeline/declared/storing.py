"""What a pipeline does: publish rows into a store, or hand them to a channel of its inbox, each exactly once."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conjoin.errors import InputError
from conjoin.pipeline.declared.file import FILES, KAFKA, PipelineTable, StoreTable
from conjoin.pipeline.declared.sources import read_source
from conjoin.pipeline.ingest.arrivals import Into
from conjoin.pipeline.ingest.batch import Ingest, Ingested
from conjoin.pipeline.ingest.frames import checked_mapping, frame_arrivals, kafka_arrivals
from conjoin.pipeline.ingest.stream import watch_files
from conjoin.pipeline.session.master import check_classic
from conjoin.pipeline.session.session import path_of, short_errors
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import read_inbox

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

OnIngested = Callable[[Ingested], None]


def ingest_of(broker: Broker, it: StoreTable, inbox: dict[str, Any], on_batch: OnIngested) -> Ingest:
    into = _channel(it.channel, inbox) if it.channel else None
    written = checked_mapping(it.mapping) if it.mapping else None
    return Ingest(broker, it.source, written, on_batch, into)


def _channel(name: str, inbox: dict[str, Any]) -> Into:
    settings, channels = read_inbox(inbox)
    if name not in channels:
        known = ", ".join(channels) or "none"
        raise InputError([f"receive.channel: there is no channel {name!r} in conjoin.toml; there is {known}"])
    return Into(channels[name], settings)


def start_storing(
    spark: "SparkSession", declared: PipelineTable, it: StoreTable, job: Ingest, once: bool
) -> "StreamingQuery | None":
    """None: the source is a table, and all of it was taken. Files that are no stream are one that ends."""
    source = declared.sources["messages"]
    if source.stream:
        check_classic(spark, "a pipeline")
    checkpoint = declared.checkpoint or _beside(it)
    if source.path and source.kind in FILES and not it.position:
        is_over = once or not source.stream
        return watch_files(spark, source.path, checkpoint, job, once=is_over, every_s=declared.every / 1_000)
    rows = read_source(spark, source)
    if source.where:
        rows = rows.where(source.where)

    def take(batch: "DataFrame") -> None:
        is_kafka = source.kind == KAFKA and not it.position
        job.take(kafka_arrivals(batch) if is_kafka else frame_arrivals(batch, it.position or None, it.part or None))

    if not source.stream:
        take(rows)
        return None

    def take_shortly(batch: "DataFrame", _: int) -> None:
        with short_errors():
            take(batch)

    writer = rows.writeStream.foreachBatch(take_shortly)
    writer = writer.option("checkpointLocation", path_of(spark, checkpoint))
    how: dict[str, Any] = {"availableNow": True} if once else {"processingTime": f"{declared.every} milliseconds"}
    return writer.trigger(**how).start()


def _beside(it: StoreTable) -> str:
    """The checkpoint of a source of a store on this machine; it may be lost, for the store knows its positions."""
    if "://" in it.store:
        raise InputError(["checkpoint: is missing: where does Spark note what it has read?"])
    safe = "".join(sign if sign.isalnum() or sign in "-_." else "_" for sign in it.source)
    return os.fspath(Path(it.store).absolute().with_name(f"{Path(it.store).name}.checkpoints") / safe)

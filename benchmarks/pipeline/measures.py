"""What is measured of the pipeline, each on a store of its own that is filled before the clock runs."""

import time
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.broker.state import make, paid
from benchmarks.broker.throughput import side_by_side
from benchmarks.pipeline.clock import Clock, Measured
from benchmarks.pipeline.state import fill_inbox
from conjoin.kernel.inbox import InboxSettings
from conjoin.pipeline.inbox import SparkInbox
from conjoin.pipeline.ingest.batch import Ingest, Ingested
from conjoin.pipeline.ingest.stream import take_files, watch_files
from conjoin.runtime.codec.json_text import json_text

SHARDS = 2
_FILES = 4


class Place(NamedTuple):
    """Where it is measured: a session, a folder, and how many instances are open in every store."""

    spark: SparkSession
    folder: Path
    instances: int


def alone(folder: Path, instances: int, numbers: list[int]) -> Measured:
    """The broker itself, a process a shard; its CPU time is with their start."""
    address = str(folder / "alone")
    make(address, SHARDS, instances).close()
    clock = Clock()
    rate = side_by_side(address, SHARDS, numbers)
    return clock.measured(len(numbers))._replace(rate=rate)


def from_files(place: Place, numbers: list[int]) -> Measured:
    """From lines of JSON to committed correlations; the stream starts in that time, too."""
    spark, folder, instances = place
    broker = make(str(folder / "ingested"), SHARDS, instances)
    incoming, warm = folder / "incoming", folder / "warm.jsonl"
    incoming.mkdir()
    for part in range(_FILES):
        (incoming / f"{part}.jsonl").write_text("".join(map(written, numbers[part::_FILES])))
    warm.write_text('{"name": "nobody waits for this"}\n')
    total = Ingested()
    job = Ingest(broker, "bench", None, total.add)
    take_files(spark, job, [str(warm)])
    clock = Clock()
    watch_files(spark, str(incoming), str(folder / "checkpoint"), job, once=True).awaitTermination()
    measured = clock.measured(len(numbers))
    assert total.verdicts["correlated", "waiting_instance"] == len(numbers), total
    broker.close()
    return measured


def written(number: int) -> str:
    """A message as a line of JSON."""
    message = paid(number)
    said = {"name": message.name, "key": message.key, "variables": message.variables, "ttl": message.ttl_ms}
    return f"{json_text(said)}\n"


def drained(place: Place, numbers: list[int], parked: int) -> tuple[Measured, float]:
    """A run of the inbox that offers and books all of them, and the seconds of a run with nothing due."""
    broker = make(str(place.folder / f"inbox-{parked}"), SHARDS, place.instances)
    warm = numbers[:SHARDS]
    inbox = SparkInbox(place.spark, broker, InboxSettings(), {})
    fill_inbox(broker, warm, parked)
    assert inbox.run().correlated == len(warm)
    fill_inbox(broker, numbers[SHARDS:], 0)
    clock = Clock()
    counts = inbox.run()
    measured = clock.measured(counts.correlated)
    assert counts.correlated == len(numbers) - SHARDS, counts
    idle = time.perf_counter()
    inbox.run()
    idle_s = time.perf_counter() - idle
    broker.close()
    return measured, idle_s

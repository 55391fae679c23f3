"""Files and Kafka into a store, each in a process of its own: the second would find a Java that is warm."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from benchmarks.pipeline.clock import Measured
from benchmarks.pipeline.kafka import from_kafka
from benchmarks.pipeline.measures import SHARDS, Place, from_files
from conjoin.pipeline.session.session import FOR_A_SHORT_JOB, session
from conjoin.settings import load
from tests.kafka.broker import connector

_SHORT = 200_000
_SOURCES = {"files": from_files, "kafka": from_kafka}


def ingested(folder: Path, instances: int, numbers: list[int]) -> dict[str, Measured]:
    """Without Kafka where scripts/setup-kafka was not run."""
    found = {}
    for source in _SOURCES if connector() else ("files",):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            found[source] = process.submit(_measured, source, folder, instances, numbers).result()
    return found


def _measured(source: str, folder: Path, instances: int, numbers: list[int]) -> Measured:
    """Java is started as `conjoin spark ingest` starts it, once or for good."""
    java = FOR_A_SHORT_JOB if len(numbers) <= _SHORT else ""
    spark = session(load(master=f"local[{SHARDS}]", jars=connector() or None), "benchmark", java)
    return _SOURCES[source](Place(spark, folder, instances), numbers)

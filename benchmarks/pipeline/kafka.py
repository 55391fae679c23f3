"""The same from a topic of a real Kafka on this machine, whose CPU time is counted with ours.

Left out where scripts/setup-kafka did not run.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.broker.state import make
from benchmarks.pipeline.clock import Clock, Measured
from benchmarks.pipeline.measures import SHARDS, Place, written
from conjoin.pipeline.ingest.batch import Ingest, Ingested
from conjoin.pipeline.ingest.stream import watch_kafka
from tests.kafka.broker import KafkaBroker

_TOPIC, _WARM = "bench", "warm"


def from_kafka(place: Place, numbers: list[int]) -> Measured:
    """From records to committed correlations; the stream starts in that time, too."""
    spark, folder, instances = place
    store = make(str(folder / "from-kafka"), SHARDS, instances)
    total = Ingested()
    job = Ingest(store, "bench", None, total.add)
    with _started(place) as servers:
        _produce(place, servers, _WARM, numbers[:0])
        _produce(place, servers, _TOPIC, numbers)
        at = {"kafka.bootstrap.servers": servers}
        watch_kafka(spark, at | {"subscribe": _WARM}, str(folder / "warm-topic"), job, once=True).awaitTermination()
        clock = Clock()
        watch_kafka(spark, at | {"subscribe": _TOPIC}, str(folder / "topic"), job, once=True).awaitTermination()
        measured = clock.measured(len(numbers))
    assert total.verdicts["correlated", "waiting_instance"] == len(numbers), total
    store.close()
    return measured


@contextmanager
def _started(place: Place) -> Iterator[str]:
    home = place.folder / "kafka"
    home.mkdir()
    broker = KafkaBroker(home)
    try:
        yield broker.servers
    finally:
        broker.stop()


def _produce(place: Place, servers: str, topic: str, numbers: list[int]) -> None:
    """One record at least, which nobody waits for."""
    file = place.folder / f"{topic}.lines"
    file.write_text('{"name": "nobody waits for this"}\n' + "".join(map(written, numbers)))
    lines = place.spark.read.text(str(file)).selectExpr("cast(value as binary) as value")
    lines.write.format("kafka").options(**{"kafka.bootstrap.servers": servers, "topic": topic}).save()

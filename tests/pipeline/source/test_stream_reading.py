"""A stream of a store: every event and every verdict once, however its reading is cut and wherever it goes on."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conjoin.errors import InputError
from conjoin.pipeline import register
from conjoin.pipeline.source.options import read_stream_options
from conjoin.pipeline.source.stream_reader import ConjoinStreamReader
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.upkeep.removal import HouseKeeper
from conjoin.store import create_store
from conjoin.store.port import Facts
from tests.pipeline.source.stories import asking, read, tell_stories

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FACTS = Facts(3, "zeebe", 0, unique_business_ids=False)
FINAL = ("correlated", "discarded", "expired", "refused")
Row = dict[str, Any]


@pytest.fixture
def living(tmp_path: Path) -> Broker:
    """A store of its own, which a test may write to."""
    return tell_stories(create_store(tmp_path / "store", FACTS))


def stream(address: str, table: str, **options: str) -> ConjoinStreamReader:
    place = "url" if address.startswith("postgresql://") else "path"
    return ConjoinStreamReader(read_stream_options({place: address, "table": table, **options}))


def taken(reader: ConjoinStreamReader, start: dict[str, int], end: dict[str, int]) -> list[Row]:
    return [row for part in reader.partitions(start, end) for batch in reader.read(part) for row in batch.to_pylist()]


def counted(rows: list[Row]) -> Counter[str]:
    return Counter(map(repr, rows))


@pytest.mark.parametrize("table", ["events", "verdicts"])
@pytest.mark.parametrize("at_once", [None, 1, 7])
def test_all_batches_together_are_the_table(stories: Broker, table: str, at_once: int | None) -> None:
    address = stories.store.address
    more = {} if at_once is None else {"max_commits_per_batch": str(at_once)}
    reader, found = stream(address, table, **more), []
    start = reader.initialOffset()
    while (end := reader.latestOffset()) != start:
        some = taken(reader, start, end)
        assert at_once is None or all(end[name] - start[name] <= at_once for name in end)
        found += some
        start = end
    expected = [row for row in read(asking(address, table)) if table == "events" or row["verdict"] in FINAL]
    assert len(expected) > 10
    assert counted(found) == counted(expected)


def test_a_stream_that_goes_on_reads_what_came_since(living: Broker) -> None:
    reader = stream(living.store.address, "verdicts", starting="latest")
    start = reader.initialOffset()
    assert taken(reader, start, reader.latestOffset()) == []
    living.publish(NewMessage("nobody", "at all"))
    again = stream(living.store.address, "verdicts", max_commits_per_batch="1")
    # What Spark does when it starts a query again.
    assert again.partitions(start, start) == []
    end = again.latestOffset()
    assert sum(end.values()) == sum(start.values()) + 1
    [row] = taken(again, start, end)
    assert (row["name"], row["verdict"], row["reason"]) == ("nobody", "discarded", "ttl_zero")


def test_what_was_removed_from_the_log_is_missed_in_words(living: Broker) -> None:
    address = living.store.address
    reader = stream(address, "events")
    start = reader.initialOffset()
    shard = next(int(name) for name, head in reader.latestOffset().items() if head > 3)
    keeper = HouseKeeper(living.store, shard)
    list(keeper.remove_log("version", 3))
    keeper.close()
    with pytest.raises(InputError, match=f"shard {shard}: the log begins after version 2, and was read up to 0"):
        reader.partitions(start, reader.latestOffset())
    tolerant = stream(address, "events", fail_on_loss="false")
    found = taken(tolerant, start, tolerant.latestOffset())
    assert counted(found) == counted(read(asking(address, "events")))
    assert stream(address, "events").initialOffset()[str(shard)] == 2


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"table": "instances"}, "the table instances is no stream; events and verdicts are"),
        ({"starting": "now"}, "starting: 'now' is neither earliest nor latest"),
        ({"max_commits_per_batch": "0"}, "max_commits_per_batch: '0' is no whole number above 0"),
        ({"fail_on_loss": "maybe"}, "fail_on_loss: 'maybe' is neither true nor false"),
        ({"partitions_per_shard": "2"}, "there is no option 'partitions_per_shard' of a stream"),
    ],
)
def test_wrong_options_are_told(options: dict[str, str], problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read_stream_options({"path": "store", "table": "events"} | options)


def test_a_query_takes_each_verdict_once_over_several_starts(
    spark: "SparkSession", living: Broker, tmp_path: Path
) -> None:
    register(spark)

    def run() -> list[Any]:
        rows = spark.readStream.format("conjoin").option("path", living.store.address).option("table", "verdicts")
        frame = rows.option("columns", "message_key,name,verdict").load()
        query = frame.writeStream.format("parquet").option("checkpointLocation", str(tmp_path / "checkpoint"))
        query.trigger(availableNow=True).start(str(tmp_path / "out")).awaitTermination()
        return spark.read.parquet(str(tmp_path / "out")).collect()

    first = run()
    living.publish(NewMessage("nobody", "at all"))
    second = run()
    assert len(first) > 10
    assert len(second) == len(first) + 1
    assert len({row.message_key for row in second}) == len(second)

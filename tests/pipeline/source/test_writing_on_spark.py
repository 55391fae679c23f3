"""Frames and streams that publish, in a session: what Spark itself repeats is published once."""

import json
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import AnalysisException

from conjoin.pipeline import register
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import create_broker
from conjoin.store import tables as t
from tests.pipeline.ingest.test_ingest import TWO_KEYS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def keys(broker: Broker) -> Counter[str]:
    return Counter(row.correlation_key for row in broker.store.rows(t.MESSAGE, {}, None, 1_000))


def test_a_frame_is_published_on_postgresql_once_and_replaces_nothing(
    spark: "SparkSession", postgres_server: Any
) -> None:
    register(spark)
    url = postgres_server.new_database()
    with closing(create_broker(url, 3)) as broker:
        orders = spark.range(40).selectExpr("id", "'paid' as name", "concat('k-', id) as key", "60000 as ttl")
        writer = orders.repartition(3).write.format("conjoin").options(url=url, source="orders", position="id")
        writer.mode("append").save()
        assert keys(broker) == Counter(f"k-{n}" for n in range(40))
        writer.mode("append").save()
        assert keys(broker).total() == 40
        with pytest.raises(AnalysisException, match="InputError: mode: a message that was published stays published"):
            writer.mode("overwrite").save()


def test_what_tasks_publish_side_by_side_reaches_instances_on_other_shards(
    spark: "SparkSession", tmp_path: Path
) -> None:
    register(spark)
    with closing(create_broker(tmp_path / "store", 3)) as broker:
        broker.deploy([("two.bpmn", TWO_KEYS)])
        for number in range(20):
            broker.create_instance("order", {"first": f"a-{number}", "second": f"b-{number}"})
        said = spark.range(40).selectExpr(
            "id", "if(id % 2 = 0, 'shipped', 'paid') as name", "concat(if(id % 2 = 0, 'b-', 'a-'), id div 2) as key"
        )
        rows = said.selectExpr("*", "'1h' as ttl").repartition(4)
        writer = rows.write.format("conjoin").options(path=str(tmp_path / "store"), source="orders", position="id")
        writer.mode("append").save()
        assert [row.state for row in broker.store.rows(t.INSTANCE, {}, None, 99)] == ["completed"] * 20
        assert {row.verdict for row in broker.store.rows(t.MESSAGE, {}, None, 99)} == {"correlated"}
        assert not list(broker.store.rows(t.OUTBOX, {}, None, 9))
        writer.mode("append").save()
        assert keys(broker).total() == 40


def test_a_stream_publishes_each_batch_once_though_spark_forgets_that_it_was_committed(
    spark: "SparkSession", tmp_path: Path
) -> None:
    register(spark)
    incoming, checkpoint = tmp_path / "incoming", tmp_path / "checkpoint"
    incoming.mkdir()

    def run() -> None:
        rows = spark.readStream.schema("name string, key string, ttl string").json(str(incoming)).repartition(2)
        writer = rows.writeStream.format("conjoin").options(path=str(tmp_path / "store"), source="orders")
        stream = writer.option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start()
        stream.awaitTermination()

    with closing(create_broker(tmp_path / "store", 2)) as broker:
        for number in range(2):
            some = [{"name": "paid", "key": f"k-{number}-{n}", "ttl": "1h"} for n in range(10)]
            (incoming / f"{number}.json").write_text("".join(f"{json.dumps(row)}\n" for row in some))
            run()
        assert keys(broker) == Counter(f"k-{number}-{n}" for number in range(2) for n in range(10))
        for noted in (checkpoint / "commits").glob("*1*"):
            noted.unlink()
        run()
        assert keys(broker).total() == 20

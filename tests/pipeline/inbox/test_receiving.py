"""Rows of files, records of Kafka and tables go into a channel of the inbox, each once; bad ones are dead letters."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conjoin.errors import InputError
from conjoin.kernel.inbox.channels import Channel, Types
from conjoin.store import tables as t
from tests.pipeline.inbox.stores import make
from tests.runtime.inbox.bench import Bench, preset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conjoin.pipeline.ingest import Ingested

CHANNEL = Channel("orders")


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = make(tmp_path / "store", preset(payload_max=1_000))
    yield bench
    bench.broker.close()


def letters(bench: Bench) -> list[tuple[str, str, int, str]]:
    rows = bench.broker.store.rows(t.DEAD_LETTER, {}, None, 1_000)
    return sorted((row.source, Path(row.part).name, row.position, row.reason) for row in rows)


def told(done: "Ingested") -> dict[str, int]:
    figures = ("rows", "persisted", "duplicates", "dead_letters", "ignored", "repeated")
    return {name: getattr(done, name) for name in figures if getattr(done, name)}


def test_files_go_into_a_channel_once_and_bad_rows_are_dead_letters(
    spark: "SparkSession", bench: Bench, tmp_path: Path
) -> None:
    from conjoin.pipeline.ingest import Ingested, Into
    from conjoin.pipeline.ingest.batch import Ingest
    from conjoin.pipeline.ingest.stream import watch_files

    bench.wait(*(f"o-{number}" for number in range(40)))
    good: list[Any] = [{"name": "paid", "key": f"o-{number}", "variables": {"n": number}} for number in range(40)]
    twice = {"name": "paid", "key": "o-1", "id": "twice"}
    bad = ["{broken", {"key": "no name"}, {"name": "paid", "key": 1, "timestamp": "soon"}, {"payload": "x" * 2_000}]
    rows = [*good[:20], *bad, "", *good[20:], twice, twice]
    (folder := tmp_path / "incoming").mkdir()
    (folder / "a.jsonl").write_text(
        "".join(f"{row if row == '' or row == '{broken' else json.dumps(row)}\n" for row in rows)
    )
    (folder / "b.csv").write_text("name,key\npaid,c-1\npaid\n")

    def once(checkpoint: str) -> "Ingested":
        total = Ingested()
        job = Ingest(bench.broker, "files", None, total.add, Into(CHANNEL, bench.settings))
        watch_files(spark, str(folder), str(tmp_path / checkpoint), job, once=True).awaitTermination()
        return total

    assert told(once("first")) == {"rows": 49, "persisted": 42, "duplicates": 1, "dead_letters": 5, "ignored": 1}
    assert letters(bench) == [
        ("orders", "a.jsonl", 21, "unreadable"),
        ("orders", "a.jsonl", 22, "missing_name"),
        ("orders", "a.jsonl", 23, "bad_time"),
        ("orders", "a.jsonl", 24, "too_large"),
        ("orders", "b.csv", 2, "unreadable"),
    ]
    assert told(once("second")) == {"rows": 49, "ignored": 1, "repeated": 48}
    assert len(letters(bench)) == 5
    assert bench.run().correlated == 40
    ids = {row.correlation_key: row.message_id for row in bench.rows(state="done")}
    assert {key: int(id_.rpartition("-")[2]) for key, id_ in ids.items()} == {
        f"o-{number}": number + 1 if number < 20 else number + 6 for number in range(40)
    }


def test_records_of_kafka_keep_their_headers_and_their_order(spark: "SparkSession", bench: Bench) -> None:
    from conjoin.pipeline.ingest import Into, ingest

    bench.wait("o-1", "o-2")
    paid = ("X-CORRELATE-PayloadType-Name", b"Paid")
    records = [
        (
            b"o-1",
            b'{"n": 1}',
            "orders",
            0,
            10,
            [("X-CORRELATE-ID", b"first"), paid],
        ),
        (
            b"o-1",
            b'{"n": 1}',
            "orders",
            0,
            11,
            [("X-CORRELATE-ID", b"first"), paid],
        ),
        (b"o-2", b'{"n": 2}', "orders", 1, 10, [paid]),
        (b"o-3", b'{"n": 3}', "orders", 1, 11, [("X-CORRELATE-PayloadType-Name", b"Other")]),
        (b"o-4", None, "orders", 0, 12, None),
    ]
    shape = "key binary, value binary, topic string, partition int, offset bigint"
    shape += ", headers array<struct<key:string,value:binary>>"
    frame = spark.createDataFrame(records, shape).selectExpr("*", "timestamp'2026-01-01 00:00:00' as timestamp")
    mapping = {"name": "paid", "key": "= headers.kafka_key"}
    into = Into(Channel("orders", filter=Types(frozenset({"Paid"})), mapping=mapping), bench.settings)
    address = bench.broker.store.address
    done = ingest(frame, address, "kafka:orders", into=into)
    assert told(done) == {"rows": 5, "persisted": 2, "duplicates": 1, "dead_letters": 1, "ignored": 1}
    assert letters(bench) == [("orders", "orders-0", 12, "unreadable")]
    assert told(ingest(frame, address, "kafka:orders", into=into)) == {"rows": 5, "repeated": 4, "ignored": 1}
    assert bench.run().correlated == 2
    assert sorted(row.message_id for row in bench.rows(state="done")) == ["first", "orders-1-10"]


def test_a_channel_has_its_own_mapping_and_must_be_enabled(spark: "SparkSession", bench: Bench) -> None:
    from conjoin.pipeline.ingest import Into, ingest

    frame = spark.range(3).selectExpr("id", "'paid' as name", "concat('t-', id) as key")
    off = Into(Channel("orders", enabled=False), bench.settings)
    with pytest.raises(InputError, match=r"mapping.*\n.*not enabled"):
        ingest(frame, bench.broker.store.address, "table", {"name": "paid"}, position="id", into=off)
    assert bench.rows() == []

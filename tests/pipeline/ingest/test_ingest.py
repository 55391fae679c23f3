"""Rows of files, of tables and of Kafka's records become messages of a store, each once, whatever is repeated."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from conjoin.errors import InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import create_broker
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, catch, message, model

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conjoin.pipeline.ingest.batch import Ingested

HOUR = {"ttl": "1h"}
TWO_KEYS = model(
    BEGIN + catch("pay", "paid") + catch("ship", "shipped") + END,
    "begin>pay pay>ship ship>end",
    message("paid", "paid", "=first") + message("shipped", "shipped", "=second"),
)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    broker = create_broker(tmp_path / "store", 3)
    yield broker
    broker.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "incoming"
    folder.mkdir()
    return folder


class Run:
    """Runs of one source, and what they came to."""

    def __init__(self, spark: "SparkSession", broker: Broker, folder: Path) -> None:
        from conjoin.pipeline.ingest.batch import Ingest, Ingested

        self.spark = spark
        self._folder = folder
        self.total: Ingested = Ingested()
        self.job: Ingest = Ingest(broker, "test", None, lambda done: self.total.add(done))

    def once(self, checkpoint: str = "checkpoint") -> "Ingested":
        from conjoin.pipeline.ingest.batch import Ingested
        from conjoin.pipeline.ingest.stream import watch_files

        self.total = Ingested()
        place = str(self._folder.parent / checkpoint)
        watch_files(self.spark, str(self._folder), place, self.job, once=True).awaitTermination()
        return self.total


@pytest.fixture
def run(spark: "SparkSession", broker: Broker, folder: Path) -> Run:
    return Run(spark, broker, folder)


def lines(*rows: Any) -> str:
    return "".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows)


def messages(broker: Broker) -> Counter[tuple[str, str]]:
    return Counter((row.correlation_key, row.message_id) for row in broker.store.rows(t.MESSAGE, {}, None, 100_000))


def letters(broker: Broker) -> list[tuple[str, int, str]]:
    rows = broker.store.rows(t.DEAD_LETTER, {}, None, 1_000)
    return sorted((Path(row.part).name, row.position, row.reason) for row in rows)


def test_rows_in_are_messages_and_dead_letters_and_nothing_twice(run: Run, broker: Broker, folder: Path) -> None:
    good = [{"name": "paid", "key": f"k-{n}", "id": f"m-{n}", **HOUR} for n in range(50)]
    (folder / "a.jsonl").write_text(lines(*good, "{broken", "", {"name": "paid", "ttl": "soon"}))
    (folder / "b.csv").write_text('name,key,variables\npaid,c-1,"{""a"": 1}"\npaid,c-2\n,c-3,\n')
    run.spark.range(3).selectExpr("'paid' as name", "id as key").coalesce(1).write.parquet(str(folder / "p.parquet"))
    (folder / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    done = run.once()
    assert (done.rows, done.messages, done.dead_letters, done.ignored, done.repeated) == (60, 54, 5, 1, 0)
    assert done.verdicts == {("buffered", "nobody_waits"): 50, ("discarded", "ttl_zero"): 4}
    assert letters(broker) == [
        ("a.jsonl", 51, "unreadable"),
        ("a.jsonl", 53, "bad_ttl"),
        ("b.csv", 2, "unreadable"),
        ("b.csv", 3, "missing_name"),
        ("bad.parquet", 0, "unreadable"),
    ]
    before = messages(broker)
    assert set(before.values()) == {1}
    assert run.once().rows == 0
    again = run.once("another checkpoint")
    assert (again.rows, again.repeated, again.messages, again.dead_letters) == (60, 59, 0, 0)
    assert messages(broker) == before
    assert len(letters(broker)) == 5


def test_lines_have_their_numbers_however_spark_cuts_the_file(run: Run, broker: Broker, folder: Path) -> None:
    (folder / "a.jsonl").write_text(lines(*({"name": "paid", "key": f"k-{n}", **HOUR} for n in range(1, 401))))
    setting = "spark.sql.files.maxPartitionBytes"
    run.spark.conf.set(setting, "3000b")
    try:
        assert run.once().messages == 400
    finally:
        run.spark.conf.unset(setting)
    assert all(key == f"k-{id_.rpartition(':')[2]}" for key, id_ in messages(broker))
    assert run.once("another checkpoint").repeated == 400


def test_file_that_cannot_be_read_is_a_dead_letter_and_the_others_are_taken(
    run: Run, broker: Broker, folder: Path
) -> None:
    import gzip

    whole = gzip.compress(lines(*({"name": "paid", "key": f"k-{n}", **HOUR} for n in range(500))).encode())
    (folder / "a.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    (folder / "b.jsonl").write_text(lines({"name": "paid", "key": "k", **HOUR}))
    (folder / "c.txt").write_text("what is this?")
    (folder / "d.csv").write_text("a,A\n1,2\n")
    (folder / "e.csv").write_text("")
    done = run.once()
    assert (done.messages, done.dead_letters) == (1, 3)
    assert letters(broker) == [(name, 0, "unreadable") for name in ("a.jsonl.gz", "c.txt", "d.csv")]


def test_waiting_instances_get_what_is_ingested_whatever_the_shard(run: Run, broker: Broker, folder: Path) -> None:
    """An instance waits for two keys, as a rule on two shards."""
    broker.deploy([("two.bpmn", TWO_KEYS)])
    for n in range(20):
        broker.create_instance("order", {"first": f"a-{n}", "second": f"b-{n}"})
    paid = [{"name": "paid", "key": f"a-{n}", "variables": {"n": n}} for n in range(20)]
    shipped = [{"name": "shipped", "key": f"b-{n}", **HOUR} for n in range(20)]
    (folder / "a.jsonl").write_text(lines(*shipped, *paid))
    done = run.once()
    assert done.messages == 40
    assert [row.state for row in broker.store.rows(t.INSTANCE, {}, None, 99)] == ["completed"] * 20
    assert not list(broker.store.rows(t.OUTBOX, {}, None, 9))
    rows = broker.store.rows(t.MESSAGE, {}, None, 99)
    assert {row.verdict for row in rows} == {"correlated"}


def test_records_of_kafka_are_taken_by_partition_and_offset(spark: "SparkSession", broker: Broker) -> None:
    from conjoin.pipeline.ingest import ingest

    records = [
        (b"o-1", b'{"type": "paid", "amount": 5}', "orders", 0, 10, [("trace", b"x")]),
        (b"o-2", b'{"type": "paid", "amount": 6}', "orders", 1, 10, None),
        (b"o-3", None, "orders", 0, 11, None),
        (b"o-4", b"text", "orders", 0, 12, None),
        (b"o-5", b'{"type": "other"}', "orders", 0, 13, None),
    ]
    shape = "key binary, value binary, topic string, partition int, offset bigint"
    shape += ", headers array<struct<key:string,value:binary>>"
    frame = spark.createDataFrame(records, shape).selectExpr("*", "timestamp'2026-01-01 00:00:00' as timestamp")
    said = {
        "name": "= type", "key": "= kafka.key", "ttl": "1h", "only": '= type != "other"',
        "variables": "= {amount: amount, trace: kafka.headers.trace, at: kafka.offset}",
    }  # fmt: skip
    address = broker.store.address
    done = ingest(frame, address, "kafka:orders", said)
    assert (done.rows, done.messages, done.dead_letters, done.ignored) == (5, 2, 2, 1)
    assert messages(broker) == {("o-1", "orders-0:10"): 1, ("o-2", "orders-1:10"): 1}
    rows = {row.correlation_key: json.loads(row.variables) for row in broker.store.rows(t.MESSAGE, {}, None, 9)}
    assert rows == {
        "o-1": {"amount": 5, "trace": "x", "at": 10},
        "o-2": {"amount": 6, "trace": None, "at": 10},
    }
    assert ingest(frame, address, "kafka:orders", said).repeated == 4


def test_table_needs_a_column_that_tells_its_rows_apart(spark: "SparkSession", broker: Broker) -> None:
    from conjoin.pipeline.ingest import ingest

    frame = spark.range(4).selectExpr("id", "'paid' as name", "id as key", "cast(id % 2 as string) as p")
    address = broker.store.address
    for wrong in ({}, {"position": "none"}, {"position": "name"}, {"position": "id", "part": "none"}):
        with pytest.raises(InputError, match=r"position|column"):
            ingest(frame, address, "table", {"name": "= name", "key": "= key"}, **wrong)  # type: ignore[arg-type]
    assert ingest(frame, address, "table", position="id", part="p").messages == 4
    assert ingest(frame, address, "table", position="id", part="p").repeated == 4
    assert ingest(frame, address, "another", position="id", part="p").repeated == 0
    nowhere = frame.selectExpr("-1 - id as id", "name", "key")
    assert ingest(nowhere, address, "third", position="id").dead_letters == 4
    assert ingest(nowhere, address, "third", position="id").repeated == 4


def test_a_row_that_cannot_be_carried_out_is_a_dead_letter_and_the_stream_goes_on(
    run: Run, broker: Broker, folder: Path
) -> None:
    """It meets an instance that cannot be read, which no retry of a task mends."""
    broker.deploy([("order.bpmn", TWO_KEYS)])
    for number in range(100):
        bad = f"bad-{number}"
        created = broker.create_instance("order", {"first": bad, "second": "s"})
        assert isinstance(created, CreatedInstance)
        shard = broker.homes.shard_of_record(created.key)
        if shard == shard_of(bad, 3):
            # Between shards it would be mail, which is set aside.
            break
    with closing(sqlite3.connect(Path(broker.store.address) / f"shard-{shard:02}.db")) as connection, connection:
        connection.execute("update instance set body = '[' where key = ?", [created.key])
    keys = [*(f"k-{number}" for number in range(20)), bad, *(f"l-{number}" for number in range(20))]
    (folder / "a.jsonl").write_text(lines(*({"name": "paid", "key": key, **HOUR} for key in keys)))
    done = run.once()
    assert (done.rows, done.messages, done.dead_letters) == (41, 40, 1)
    assert letters(broker) == [("a.jsonl", 21, "not_carried_out")]
    (folder / "b.jsonl").write_text(lines({"name": "paid", "key": "later", **HOUR}))
    assert run.once().messages == 1
    assert sum(messages(broker).values()) == 41

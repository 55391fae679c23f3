"""The schedule of an inbox as a pipeline's file: of a store and of tables, once and again and again, each run once."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conjoin.errors import InputError, StoreFailed
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.due import RUN
from conjoin.pipeline.declared import Pipeline
from conjoin.pipeline.declared.file import DeclaredSource, pipeline_of
from conjoin.pipeline.declared.pipeline import PipelineResult
from conjoin.pipeline.declared.scheduling import RunningSchedule, TableTurns, listing_of
from conjoin.pipeline.inbox import correlate_inbox
from conjoin.pipeline.inbox.tables.folder import ParquetInbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.testing.clock import FakeClock
from tests.pipeline.inbox.stores import SHARDS
from tests.runtime.inbox.bench import Bench, preset

pytestmark = pytest.mark.spark

ARRIVING = "id string, name string, key string, variables string"
WAITING = "process_id string, name string, correlation_key string, opened_at string, instance_id string"


def lines(folder: Path, name: str, *rows: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def arriving(id_: str, key: str) -> dict[str, Any]:
    return {"id": id_, "name": "Paid", "key": key}


def waiting(key: str) -> dict[str, Any]:
    opened = {"opened_at": "2026-01-01T00:00:00Z", "instance_id": f"i-{key}"}
    return {"process_id": "order", "name": "Paid", "correlation_key": key, **opened}


def declared(folder: Path, **inbox: Any) -> dict[str, Any]:
    messages = {"path": str(folder / "arriving"), "format": "jsonl", "types": ARRIVING, "stream": False}
    waits = {"path": str(folder / "waiting"), "format": "jsonl", "types": WAITING, "stream": False}
    it = {"tables": str(folder / "inbox"), "inbox": inbox}
    return {"sources": {"messages": messages, "subscriptions": waits}, "schedule": it}


def states(spark: SparkSession, folder: Path) -> dict[str, str]:
    table = ParquetInbox(spark, str(folder / "inbox")).read()
    assert table is not None
    return {row.message_id: row.state for row in table.collect()}


def test_runs_over_tables_go_on_from_each_other_and_take_nobody_twice(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "arriving", "1.jsonl", arriving("m-1", "a"), arriving("m-2", "b"), {"id": "m-3", "key": "a"})
    lines(tmp_path / "waiting", "1.jsonl", waiting("a"))
    written = declared(tmp_path, backoff_unit="1ms", backoff_base=1.0)
    first = Pipeline.of(written).run(spark, once=True)
    assert first.out == {"correlated": 1, "target_error": 1, "dead_lettered": 1}
    lines(tmp_path / "waiting", "2.jsonl", waiting("b"))
    second = Pipeline.of(written).run(spark, once=True)
    assert second.out == {"correlated": 1}
    found = states(spark, tmp_path)
    assert [found.pop(id_) for id_ in ("m-1", "m-2")] == ["done", "done"]
    assert list(found.values()) == ["dead_letter"]
    lines(tmp_path / "arriving", "2.jsonl", arriving("m-1", "a"), arriving("m-4", "a"))
    assert Pipeline.of(written).run(spark, once=True).out == {"target_error": 1}


def test_rows_are_read_by_the_mapping_of_a_channel_and_known_by_their_position(
    spark: SparkSession, tmp_path: Path
) -> None:
    shape = "no long, type string, order string"
    rows = [{"no": 1, "type": "Paid", "order": "a"}, {"no": 2, "type": "Other", "order": "a"}]
    same = {"type": "Paid", "order": "b"}
    lines(tmp_path / "arriving", "1.jsonl", *rows, {"no": 3, **same}, {"no": 4, **same}, same, same)
    lines(tmp_path / "waiting", "1.jsonl", waiting("a"), waiting("b"))
    mapping = {"name": "= type", "key": "= order", "only": '= type = "Paid"'}
    written = declared(tmp_path, mode="all", channels={"shop": {"mapping": mapping}})
    written["sources"]["messages"]["types"] = shape
    written["schedule"] |= {"channel": "shop", "position": "no"}
    # Those two that say the same and have no position are one message.
    for out in ({"correlated": 2, "target_error": 2}, {}):
        assert Pipeline.of(written).run(spark, once=True).out == out
    known, nowhere = sorted(states(spark, tmp_path), key=len)[:3], max(states(spark, tmp_path), key=len)
    assert (sorted(known), nowhere[:8]) == (["shop-1", "shop-3", "shop-4"], "nowhere-")


def test_tables_that_cannot_be_are_refused_at_once(spark: SparkSession) -> None:
    rows = spark.createDataFrame([("m-1",)], "id string")
    with pytest.raises(InputError) as raised:
        correlate_inbox(rows, rows, rows, channel=Channel("c", enabled=False, target="erp"), position="no")
    assert raised.value.problems == [
        "subscriptions: column process_id is missing; it has id",
        "subscriptions: column name is missing; it has id",
        "subscriptions: column opened_at is missing; it has id",
        "the channel 'c' is for 'erp': remote targets need a store",
        "the channel 'c' is not enabled",
        "position: there is no column 'no'; there are id",
        "inbox: it is none that a run has left: it has no column key, channel, tenant_id, message_id, name",
    ]
    with pytest.raises(InputError, match="profile: 'zebra' is none of"):
        correlate_inbox(rows, rows, profile="zebra")


def test_run_with_nothing_new_and_nothing_due_starts_no_job(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "arriving", "1.jsonl", arriving("m-1", "a"))
    lines(tmp_path / "waiting", "1.jsonl", waiting("x"))
    written = declared(tmp_path)
    assert Pipeline.of(written).run(spark, once=True).out == {"target_error": 1}
    table = pipeline_of(written)
    assert table.schedule is not None
    nowhere = TableTurns(spark, table, table.schedule, table.schedule.inbox or {})
    nowhere._spark = None  # type: ignore[assignment]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("conjoin.pipeline.declared.scheduling.path_of", lambda _, path: path)
        assert nowhere.everything() == Counts()
        lines(tmp_path / "arriving", "2.jsonl", arriving("m-2", "b"))
        with pytest.raises(AttributeError):
            nowhere.everything()


@pytest.mark.parametrize("path", ["arriving/*.jsonl", "nowhere"])
def test_files_that_cannot_be_listed_are_read_at_every_run(spark: SparkSession, tmp_path: Path, path: str) -> None:
    lines(tmp_path / "arriving", "1.jsonl", arriving("m-1", "a"))
    assert listing_of(spark, DeclaredSource(path=str(tmp_path / path))) == ""
    before = listing_of(spark, DeclaredSource(path=str(tmp_path / "arriving")))
    lines(tmp_path / "arriving", "2.jsonl", arriving("m-2", "a"))
    assert "" != before != listing_of(spark, DeclaredSource(path=str(tmp_path / "arriving")))


def test_of_two_that_go_on_from_one_run_of_tables_the_second_is_refused_and_its_next_goes_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    lines(tmp_path / "waiting", "1.jsonl", waiting("x"))
    waits = spark.read.schema(WAITING).json(str(tmp_path / "waiting"))
    arrived = spark.createDataFrame([("m-1", "Paid", "a")], "id string, name string, key string")
    one, other = (ParquetInbox(spark, str(tmp_path / "inbox")) for _ in range(2))
    assert one.write(correlate_inbox(arrived, waits, one.read(), at=1), 1, "") == Counts(target_error=1)
    before = other.read()
    assert one.write(correlate_inbox(None, waits, one.read(), at=60_000_001), 2, "") == Counts(target_error=1)
    with pytest.raises(StoreFailed, match=r"another process has made run 1 .*nothing of this one counts"):
        other.write(correlate_inbox(None, waits, before, at=60_000_002), 2, "")
    assert other.write(correlate_inbox(None, waits, other.read(), at=180_000_001), 3, "") == Counts(target_error=1)
    [row] = one.read().collect()  # type: ignore[union-attr]
    assert row.attempts == 3


def test_run_that_is_killed_before_its_commit_counts_for_nothing(spark: SparkSession, tmp_path: Path) -> None:
    lines(tmp_path / "arriving", "1.jsonl", arriving("m-1", "a"))
    lines(tmp_path / "waiting", "1.jsonl", waiting("x"))
    file = tmp_path / "p.json"
    file.write_text(json.dumps(declared(tmp_path)))
    script = (
        "import json, sys; from conjoin.pipeline.declared import Pipeline; from conjoin.settings import load\n"
        "from conjoin.pipeline.session.session import session\n"
        "spark = session(load(master='local[1]'), 'killed', '-XX:TieredStopAtLevel=1')\n"
        "Pipeline.of(json.load(open(sys.argv[1]))).run(spark, once=True)\n"
    )
    environment = {**os.environ, "CONJOIN_FAULT": "batch_written:1"}
    command = [sys.executable, "-c", script, str(file)]
    killed = subprocess.run(command, env=environment, check=False, timeout=120, capture_output=True)
    assert killed.returncode < 0, killed.stderr
    assert ParquetInbox(spark, str(tmp_path / "inbox")).last() is None
    assert Pipeline.of(declared(tmp_path)).run(spark, once=True).out == {"target_error": 1}
    table = ParquetInbox(spark, str(tmp_path / "inbox")).read()
    assert table is not None
    assert [row.attempts for row in table.collect()] == [1]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """By the clock of the machine, as a pipeline has it."""
    bench = Bench(create_broker(tmp_path / "store", SHARDS), FakeClock(), preset())
    yield bench
    bench.broker.close()


def of_store(bench: Bench, **inbox: Any) -> dict[str, Any]:
    section = {"poll_initial_delay": "0s", "cleanup_initial_delay": "0s", "poll_interval": "100ms", **inbox}
    return {"schedule": {"store": bench.broker.store.address, "inbox": {**section, "channels": {"orders": {}}}}}


def test_schedule_of_a_store_takes_what_is_due_and_waits_for_the_next_poll(spark: SparkSession, bench: Bench) -> None:
    bench.wait("o-1", "o-2")
    bench.send("o-1")
    bench.send("nobody")
    told: list[dict[str, int]] = []

    def one_more(result: PipelineResult) -> None:
        told.append(dict(result.out))
        if len(told) == 1:
            bench.send("o-2")

    def two_runs(query: Any) -> None:
        while len(told) < 2:
            assert not query.awaitTermination(0.05)
        query.stop()
        assert query.awaitTermination()

    Pipeline.of(of_store(bench)).run(spark, wait=two_runs, on_batch=one_more)
    assert told == [{"correlated": 1, "target_error": 1}, {"correlated": 2, "target_error": 1}]


def test_schedule_of_a_store_leaves_a_run_to_who_holds_its_lease(spark: SparkSession, bench: Bench) -> None:
    bench.wait("o-1")
    bench.send("o-1")
    with closing(open_broker(Path(bench.broker.store.address))) as other:
        catalog = other.store.catalog
        assert catalog.lease(RUN, "another", catalog.now(), catalog.now() + 600_000_000)

        def polled(query: Any) -> None:
            assert not query.awaitTermination(0.5)
            query.stop()

        assert Pipeline.of(of_store(bench)).run(spark, wait=polled).out == {}
        assert catalog.lease(RUN, "another", catalog.now(), 0)
    assert Pipeline.of(of_store(bench)).run(spark, once=True).out == {"correlated": 1}


def test_run_that_may_succeed_next_time_ends_no_schedule() -> None:
    class Turns:
        def __init__(self) -> None:
            self.steps = iter((StoreFailed("gone for now"), Counts(correlated=1)))

        def now(self) -> int:
            return 0

        next_at = now

        def step(self) -> Counts:
            what = next(self.steps)
            if isinstance(what, Exception):
                raise what
            return what

        everything = step

    told: list[Any] = []

    def counted(counts: dict[str, int]) -> None:
        told.append(counts)
        schedule.stop()

    schedule = RunningSchedule(Turns(), False, counted, told.append)
    assert schedule.awaitTermination()
    assert told == ["gone for now", {"correlated": 1}]


def test_schedule_that_fails_ten_times_in_a_row_ends_with_the_error() -> None:
    class Turns:
        def now(self) -> int:
            return 0

        next_at = now

        def step(self) -> Counts:
            raise StoreFailed("gone")

        everything = step

    told: list[Any] = []
    with pytest.raises(StoreFailed):
        RunningSchedule(Turns(), False, told.append, told.append).awaitTermination()
    assert told == ["gone"] * 9


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"schedule": {}}, "schedule.store: or tables: say one of them"),
    ({"schedule": {"store": "d", "tables": "t"}}, "schedule.store: or tables: say one of them"),
    ({"schedule": {"store": "d", "position": "n"}}, "schedule.position: is for tables; a store has its own"),
    ({"schedule": {"store": "d", "inbox": {"mode": "some"}}}, "schedule.inbox: mode: 'some' is none of"),
    ({"schedule": {"store": "d", "inbox": 3}}, "schedule.inbox: is not a table"),
    ({"schedule": {"tables": "t"}}, "sources.subscriptions: is missing: who waits?"),
    ({"schedule": {"tables": "t", "format": "csv"}}, "schedule.format: 'csv' is none of parquet, delta"),
    ({"schedule": {"tables": "t", "channel": "c", "inbox": {}}}, "schedule.channel: there is no channel 'c'"),
    ({"schedule": {"tables": "t", "policies": {"a": {"b": 1}}}}, "schedule.policies: policy 'a': b"),
    (
        {"schedule": {"store": "d"}, "sources": {"messages": {"table": "m", "stream": False}}},
        "sources.messages: a store's inbox is filled by receive",
    ),
    (
        {"schedule": {"tables": "t"}, "sources": {"subscriptions": {"table": "m"}}},
        "sources.subscriptions.stream: a schedule reads it anew at each run: stream = false",
    ),
    (
        {"schedule": {"tables": "t"}, "sources": {"ends": {"table": "m", "stream": False}}},
        "sources.ends: a schedule takes messages and subscriptions",
    ),
    ({"schedule": {"store": "d"}, "sinks": [{"rows": "verdicts", "format": "kafka"}]}, "sinks: they get"),
    ({"schedule": {"store": "d"}, "correlate": {"out": "o"}}, "correlate, publish, receive or schedule: say one of"),
]


@pytest.mark.parametrize(("written", "told"), WRONG)
def test_each_mistake_of_a_schedule_has_its_sentence(written: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as raised:
        pipeline_of(written)
    assert any(problem.startswith(told) for problem in raised.value.problems), raised.value.problems

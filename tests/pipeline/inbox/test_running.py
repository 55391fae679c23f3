"""A run of the inbox on Spark does what the inline run does, once, whatever becomes of its tasks."""

import os
import subprocess
import sys
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conjoin.kernel.inbox.due import RUN
from conjoin.kernel.inbox.message import DONE
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.schedule import InboxSchedule
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.pipeline.inbox.stores import SHARDS, make, seen, tell_stories
from tests.runtime.inbox.bench import CHANNELS, Bench, preset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conjoin.pipeline.inbox import SparkInbox

MESSAGES = 60


def on_spark(spark: "SparkSession | None", bench: Bench) -> "SparkInbox":
    from conjoin.pipeline.inbox import SparkInbox

    return SparkInbox(spark, bench.broker, bench.settings, CHANNELS, bench.targets)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["conjoin", "correlate-docs", "correlate-code"])
def test_a_run_on_spark_leaves_the_rows_of_the_inline_run(spark: "SparkSession", tmp_path: Path, name: str) -> None:
    settings = preset(name, batch_size=3)
    with (
        closing((inline := make(tmp_path / "inline", settings)).broker),
        closing((other := make(tmp_path / "spark", settings)).broker),
    ):
        other.inbox = on_spark(spark, other)
        for bench in (inline, other):
            tell_stories(bench)
        for after_s in (0, 6, 70):
            assert other.run(after_s) == inline.run(after_s)
            assert seen(other) == seen(inline)
        assert sorted(other.target.calls) == sorted(inline.target.calls)
        assert [it.difference for it in verify_store(other.broker.store) if it.difference] == []


def test_a_task_that_is_killed_and_run_again_takes_nothing_twice(spark: "SparkSession", tmp_path: Path) -> None:
    folder = tmp_path / "store"
    bench = make(folder, preset())
    keys = [f"o-{number}" for number in range(MESSAGES)]
    bench.wait(*keys)
    bench.send_many([bench.arrival(key, key) for key in keys])
    command = [sys.executable, "-m", "tests.pipeline.inbox.one_task", str(folder)]
    killed = subprocess.run(command, env={**os.environ, "CONJOIN_FAULT": "written:4"}, check=False, timeout=60)
    assert killed.returncode < 0
    done = len(bench.rows(state=DONE))
    assert 0 < done < MESSAGES // SHARDS
    assert on_spark(spark, bench).run().correlated == MESSAGES - done
    assert {row.message_id: row.lines for row in bench.rows(state=DONE)} == dict.fromkeys(keys, 1)
    taken = bench.broker.store.rows(t.MESSAGE, {"verdict": "correlated"}, None, 1_000)
    assert sorted(row.message_id for row in taken) == sorted(keys)
    bench.broker.close()


def test_a_run_that_loses_its_lease_stops_and_the_next_one_goes_on(spark: "SparkSession", tmp_path: Path) -> None:
    from conjoin.pipeline.inbox.inbox import SparkInboxRunner

    bench = make(tmp_path / "store", preset())
    keys = [f"o-{number}" for number in range(MESSAGES)]
    bench.wait(*keys)
    bench.send_many([bench.arrival(key, key) for key in keys])
    runner = SparkInboxRunner(spark, bench.broker, bench.settings, at_once=1)
    runner.most_s = 0
    asked = count()
    first = runner.run(lambda: next(asked) < 1)
    assert 0 < first.correlated < MESSAGES
    runner = SparkInboxRunner(spark, bench.broker, bench.settings)
    assert runner.run().correlated == MESSAGES - first.correlated
    bench.broker.close()


def test_without_anything_due_there_is_no_job(tmp_path: Path) -> None:
    """There is no Spark that could run one."""
    bench = make(tmp_path / "store", preset(max_attempts=1))
    inbox = on_spark(None, bench)
    assert inbox.run() == Counts()
    bench.send("nobody", "parked")
    bench.inbox.run()
    assert bench.states() == {"parked": "parked"}
    assert inbox.run() == Counts()
    bench.send("nobody", "again")
    with pytest.raises(AttributeError):
        inbox.run()
    bench.configure(preset(batch_size=0))
    assert on_spark(None, bench).run() == Counts()
    bench.broker.close()


def test_the_schedule_is_run_by_who_has_its_lease(spark: "SparkSession", tmp_path: Path) -> None:
    from conjoin.pipeline.inbox import SparkInbox

    folder, settings = tmp_path / "store", preset(poll_initial_delay=0)
    bench = Bench(create_broker(folder, SHARDS), FakeClock(), settings)
    bench.wait("o-1", "o-2")
    bench.send("o-1")
    catalog = bench.broker.store.catalog
    with closing(open_broker(folder)) as broker, closing(SparkInbox(spark, broker, settings, CHANNELS)) as inbox:

        def stepped() -> Counts:
            schedule = InboxSchedule(inbox, "we")
            schedule.step()
            return schedule.counts

        assert catalog.lease(RUN, "another", catalog.now(), catalog.now() + 60_000_000)
        assert stepped() == Counts()
        assert catalog.lease(RUN, "another", catalog.now(), 0)
        assert stepped() == Counts(correlated=1)
        bench.send("o-2")
        assert stepped().correlated == 1
    bench.broker.close()

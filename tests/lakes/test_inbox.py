"""An inbox that is a Delta table: run by run, each a commit of its own, and none twice."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from conjoin.pipeline.inbox import correlate_inbox
from conjoin.pipeline.inbox.tables.folder import DeltaInbox
from conjoin.runtime.inbox.metrics import Counts
from tests.runtime.inbox.bench import preset

BEGAN = datetime(2030, 1, 1, tzinfo=UTC)


def arrived(spark: SparkSession, *ids: str) -> DataFrame:
    return spark.createDataFrame([(id_, "Paid", "o-1") for id_ in ids], "id string, name string, key string")


def waiting(spark: SparkSession, key: str) -> DataFrame:
    shape = "process_id string, name string, correlation_key string, opened_at timestamp"
    return spark.createDataFrame([("order", "Paid", key, BEGAN)], shape)


def run(spark: SparkSession, table: DeltaInbox, second: int, waits: DataFrame, arrivals: DataFrame) -> Counts:
    at = BEGAN + timedelta(seconds=second)
    inbox = correlate_inbox(arrivals, waits, table.read(), settings=preset(), at=at)
    return table.write(inbox, 0, "")


def test_runs_of_a_delta_inbox_go_on_from_each_other(spark: SparkSession, tmp_path: Path) -> None:
    path = str(tmp_path / "inbox")
    nobody, somebody = waiting(spark, "x"), waiting(spark, "o-1")
    assert run(spark, DeltaInbox(spark, path), 0, nobody, arrived(spark, "m-1")) == Counts(target_error=1)
    assert run(spark, DeltaInbox(spark, path), 6, somebody, arrived(spark, "m-1")) == Counts()
    assert run(spark, DeltaInbox(spark, path), 60, somebody, arrived(spark, "m-1")) == Counts(correlated=1)
    [row] = DeltaInbox(spark, path).read().collect()  # type: ignore[union-attr]
    assert (row.state, row.attempts, row.decided_at.timestamp()) == ("done", 1, BEGAN.timestamp() + 60)


@pytest.mark.parametrize("is_there", [True, False])
def test_first_run_where_only_spark_can_look(
    spark: SparkSession, tmp_path: Path, is_there: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conjoin.pipeline.inbox.tables.folder.filesystem_of", lambda _: None)
    path, waits = tmp_path / "inbox", waiting(spark, "o-1")
    if is_there:
        path.mkdir()
    assert run(spark, DeltaInbox(spark, str(path)), 0, waits, arrived(spark, "m-1")) == Counts(correlated=1)
    assert run(spark, DeltaInbox(spark, str(path)), 6, waits, arrived(spark, "m-1")) == Counts()


def test_of_two_runs_from_one_version_the_second_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    path, waits = str(tmp_path / "inbox"), waiting(spark, "x")
    run(spark, DeltaInbox(spark, path), 0, waits, arrived(spark, "m-1"))
    one, other = DeltaInbox(spark, path), DeltaInbox(spark, path)
    runs = [
        (table, correlate_inbox(arrived(spark, id_), waits, table.read(), settings=preset(), at=BEGAN))
        for table, id_ in ((one, "m-2"), (other, "m-3"))
    ]
    for table, inbox in runs:
        table.write(inbox, 0, "")
    rows = DeltaInbox(spark, path).read().collect()  # type: ignore[union-attr]
    assert sorted(row.message_id for row in rows) == ["m-1", "m-2"]

"""A plain session asks for 200 partitions: a few rows must not make hundreds of tasks, and it keeps its settings."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conjoin import correlate
from conjoin.pipeline.correlate.correlated import Correlated
from conjoin.pipeline.correlate.results import NAMES

MOST_TASKS = 40


def written(result: Correlated, folder: Path) -> list[str]:
    return [name for name, rows in result.write(str(folder)).rows.items() if rows]


def used(result: Correlated, folder: Path) -> list[str]:
    with result:
        return [name for name, rows in result.tables().items() if rows.collect()]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("use", [written, used])
def test_few_rows_are_few_tasks_in_a_plain_session(
    spark: SparkSession, tmp_path: Path, use: Callable[[Correlated, Path], list[str]], adaptive: str
) -> None:
    plain = spark.newSession()
    theirs = {
        "spark.sql.shuffle.partitions": "200",
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.optimizer.canChangeCachedPlanOutputPartitioning": "false",
    }
    for name, value in theirs.items():
        plain.conf.set(name, value)
    messages = plain.sql("""
        select id as position, 'Paid' as name, concat('o-', id) as correlation_key,
            timestamp '2026-01-31 08:00:00Z' as published_at from range(0, 3, 1, 1)""")
    waiting = plain.sql("""
        select 'order' as process_id, 'Paid' as name, 'o-1' as correlation_key,
            timestamp '2026-01-31 07:00:00Z' as opened_at""")
    last = max(jobs(spark), default=-1)
    found = use(correlate(messages, waiting, near=use is written), tmp_path / "out")
    assert set(found) == {"verdicts", "correlations"} <= set(NAMES)
    assert 0 < sum(tasks for job, tasks in jobs(spark).items() if job > last) <= MOST_TASKS
    assert {name: plain.conf.get(name) for name in theirs} == theirs


def jobs(spark: SparkSession) -> dict[int, int]:
    """The tasks that each job has run. Spark forgets the oldest."""
    context = spark.sparkContext._jsc.sc()  # type: ignore[union-attr]
    context.listenerBus().waitUntilEmpty()
    known = context.statusStore().jobsList(None)
    return {job.jobId(): job.numCompletedTasks() for job in map(known.apply, range(known.size()))}

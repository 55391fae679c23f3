"""What a run before has kept is read by code that Spark compiles, row by row as cheaply as new rows."""

import contextlib
import io
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conjoin import correlate

pytestmark = pytest.mark.spark

MESSAGE = """select 1 as position, 'Paid' as name, 'o-1' as correlation_key, 3600000L as ttl_ms,
    timestamp '2026-01-31 08:00:00Z' as published_at"""
WAITING = """select 'order' as process_id, 'Paid' as name, '{}' as correlation_key, 's-1' as subscription_id,
    timestamp '2026-01-31 08:{}:00Z' as opened_at"""


def test_every_step_of_reading_kept_messages_is_compiled(spark: SparkSession, tmp_path: Path) -> None:
    first = correlate(spark.sql(MESSAGE), spark.sql(WAITING.format("o-2", "00")))
    first.write(str(tmp_path / "first"))
    compiling = spark.newSession()
    for name, value in {"wholeStage": "true", "factoryMode": "FALLBACK"}.items():
        compiling.conf.set(f"spark.sql.codegen.{name}", value)
    kept = compiling.read.parquet(str(tmp_path / "first" / "buffered"))
    result = correlate(kept, compiling.sql(WAITING.format("o-1", "30")), since="2026-01-31T08:00:00Z")
    plan = io.StringIO()
    with contextlib.redirect_stdout(plan):
        result.inputs.row_frames(0)[0].explain()
    projects = [line for line in plan.getvalue().splitlines() if "Project [" in line]
    assert projects
    assert all("*(" in line for line in projects), plan.getvalue()


@pytest.mark.parametrize(("taken_by", "verdict"), [("array('order')", "correlated"), ("array(null)", "buffered")])
def test_nobody_in_a_list_of_those_who_have_a_message_is_nobody(
    spark: SparkSession, taken_by: str, verdict: str
) -> None:
    messages = spark.sql(f"select *, cast({taken_by} as array<string>) as taken_by from ({MESSAGE})")
    waiting = spark.sql(WAITING.format("o-2", "00"))
    with correlate(messages, waiting, as_of="2026-01-31T08:10:00Z", since="2026-01-31T08:05:00Z") as result:
        assert [row["verdict"] for row in result.verdicts.collect()] == [verdict]

"""Outputs as Delta tables, by Delta's own connector: one commit a table, which says of which run it is."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from conjoin import correlate
from conjoin.cli.main import run
from conjoin.pipeline.correlate.correlated import Correlated
from conjoin.pipeline.correlate.results import NAMES

SOME = ("verdicts", "open")


def tables(spark: SparkSession, count: int) -> tuple[DataFrame, DataFrame]:
    messages = spark.sql(f"""
        select id as position, concat('00', id % 2) as name, concat('o-', id) as correlation_key,
            timestamp '2026-01-31 08:00:00Z' as published_at from range(0, {count}, 1, 2)""")
    waiting = spark.sql("""
        select 'order' as process_id, '001' as name, 'o-1' as correlation_key, 'i-1' as instance_id,
            timestamp '2026-01-31 07:00:00Z' as opened_at""")
    return messages, waiting


def result(spark: SparkSession, count: int) -> Correlated:
    return correlate(*tables(spark, count), near=False)


def commits(table: Path) -> list[dict[str, Any]]:
    """What each says of itself, with the facts that we have given to it."""
    found = []
    for file in sorted((table / "_delta_log").glob("*.json")):
        [info] = [line["commitInfo"] for line in map(json.loads, file.read_text().splitlines()) if "commitInfo" in line]
        found.append({"operation": info["operation"], **json.loads(info["userMetadata"])})
    return found


def test_each_table_is_one_commit_and_overwrite_is_one_more(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    first = result(spark, 4)
    first.write(str(folder), "delta", tables=SOME)
    assert first.verdicts.count() == 4
    result(spark, 6).write(str(folder), "delta", tables=SOME, overwrite=True, partition_by=("name",))
    told = commits(folder / "verdicts")
    assert [(it["operation"], it["rows"]["verdicts"]) for it in told] == [("WRITE", 4), ("WRITE", 6)]
    assert {it["as_of"] for it in told} == {"2026-01-31T08:00:00Z"}
    assert len(commits(folder / "open")) == 2
    rows = spark.read.format("delta").load(str(folder / "verdicts"))
    assert sorted((row.position, row.name_) for row in rows.withColumnRenamed("name", "name_").collect()) == [
        (number, f"00{number % 2}") for number in range(6)
    ]
    before = spark.read.format("delta").option("versionAsOf", 0).load(str(folder / "verdicts"))
    assert before.count() == 4


def test_a_run_goes_on_after_one_of_delta(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Also by the command, and with tables that lie in Delta."""
    for name, frame in zip(("messages", "waiting"), tables(spark, 4), strict=True):
        frame.write.format("delta").save(str(tmp_path / name))
    given = ["--messages", str(tmp_path / "messages"), "--subscriptions", str(tmp_path / "waiting")]
    kept = ["--policy", "*:time_to_live=P2D"]
    line = ["spark", "correlate", *given, "--format", "delta", *kept]
    assert run([*line, "--out", str(tmp_path / "one"), "--as-of", "2026-02-01"]) == 0, capsys.readouterr()
    assert {it.name for it in (tmp_path / "one").iterdir()} == {*NAMES, "_run.json"}
    late = spark.sql("""
        select 'order' as process_id, '000' as name, 'o-2' as correlation_key, 'i-2' as instance_id,
            timestamp '2026-02-01 07:00:00Z' as opened_at""")
    late.write.format("delta").save(str(tmp_path / "late"))
    none = spark.sql("select 'x' as name, timestamp '2026-02-01 07:00:00Z' as published_at where false")
    none.write.format("delta").save(str(tmp_path / "none"))
    given = ["--messages", str(tmp_path / "none"), "--subscriptions", str(tmp_path / "late")]
    line = ["spark", "correlate", *given, "--format", "delta", *kept, "--after", str(tmp_path / "one")]
    assert run([*line, "--out", str(tmp_path / "two")]) == 0, capsys.readouterr()
    pairs = spark.read.format("delta").load(str(tmp_path / "two" / "correlations")).collect()
    assert [(row.correlation_key, row.instance_id) for row in pairs] == [("o-2", "i-2")]


def test_tables_of_delta_by_name(spark: SparkSession) -> None:
    correlated = result(spark, 4)
    correlated.write("table:delta_out", "delta", tables=SOME)
    result(spark, 6).write("table:delta_out", "delta", tables=SOME, overwrite=True)
    history = spark.sql("describe history delta_out_verdicts").collect()
    assert [json.loads(row.userMetadata)["rows"]["verdicts"] for row in history] == [6, 4]
    assert correlated.verdicts.count() == 6

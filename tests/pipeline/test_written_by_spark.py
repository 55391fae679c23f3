"""Outputs that Spark's writers write: tables by name, folders by the values of a column; Delta where it is."""

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from pyspark.sql import DataFrame, SparkSession

from conjoin import correlate
from conjoin.cli.main import run
from conjoin.errors import InputError
from conjoin.pipeline.correlate.correlated import Correlated
from conjoin.pipeline.correlate.results import NAMES
from conjoin.pipeline.files.tables import read_table

pytestmark = pytest.mark.spark
SOME = ("verdicts", "open", "dead_letters")


def tables(spark: SparkSession) -> tuple[DataFrame, DataFrame]:
    messages = spark.sql("""
        select id as position, concat('00', id % 2) as name, concat('o-', id) as correlation_key,
            timestamp '2026-01-31 08:00:00Z' as published_at from range(0, 4, 1, 1)""")
    waiting = spark.sql("""
        select 'order' as process_id, '001' as name, 'o-1' as correlation_key, 'i-1' as instance_id,
            timestamp '2026-01-31 07:00:00Z' as opened_at""")
    return messages, waiting


def result(spark: SparkSession) -> Correlated:
    return correlate(*tables(spark), as_of="2026-02-01", unique_positions=True, near=False)


def said(rows: DataFrame) -> list[tuple[int, str, str]]:
    return sorted((row.position, row.name_, row.reason) for row in rows.withColumnRenamed("name", "name_").collect())


EXPECTED = [(0, "000", "ttl_zero"), (1, "001", "waiting_instance"), (2, "000", "ttl_zero"), (3, "001", "ttl_zero")]


@pytest.fixture
def name(spark: SparkSession) -> Iterator[str]:
    """Of tables that are not there yet, and not any more."""
    name = f"t{uuid4().hex[:8]}"
    yield name
    for table in (*NAMES, "run"):
        spark.sql(f"drop table if exists {name}_{table}")


def test_tables_are_written_by_name_and_replaced_if_that_is_asked_for(spark: SparkSession, name: str) -> None:
    correlated = result(spark)
    written = correlated.write(f"table:{name}", tables=SOME)
    assert written.rows == {"verdicts": 4, "open": 0, "dead_letters": 0}
    assert said(spark.table(f"{name}_verdicts")) == said(correlated.verdicts) == EXPECTED
    assert spark.table(f"{name}_open").columns == correlated.open.columns
    assert not spark.catalog.tableExists(f"{name}_correlations")
    with pytest.raises(InputError, match=f"there is a table {name}_verdicts already; overwrite replaces it"):
        result(spark).write(f"table:{name}", tables=SOME)
    result(spark).write(f"table:{name}", tables=("verdicts",), overwrite=True)
    assert said(read_table(spark, "messages", [f"table:{name}_verdicts"]).rows) == EXPECTED


def test_outputs_that_have_the_column_are_folders_by_its_values(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    result(spark).write(str(folder), tables=("verdicts", "near_misses", "dead_letters"))
    correlated = result(spark)
    correlated.write(str(folder), tables=SOME, overwrite=True, partition_by=("name",))
    assert {it.name for it in (folder / "verdicts").iterdir() if it.is_dir()} == {"name=000", "name=001"}
    assert [it.name for it in (folder / "dead_letters").iterdir() if it.is_dir()] == []
    assert {it.name for it in folder.iterdir()} == {*SOME, "_run.json"}
    assert json.loads((folder / "_run.json").read_bytes())["rows"]["verdicts"] == 4
    assert said(correlated.verdicts) == said(read_table(spark, "messages", [str(folder / "verdicts")]).rows) == EXPECTED


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"partition_by": ("colour",)}, "partition by colour: no output has such a column; there are "),
        ({"partition_by": ("correlated_to",)}, "partition by correlated_to: in verdicts it is array<string>"),
        ({"tables": ("later",), "partition_by": ("table", "row")}, "later would have no column left"),
        ({"file_format": "delta"}, "a Delta table cannot be written by this session: start Spark with Delta's"),
    ],
)
def test_what_cannot_be_written_so_is_said_before_anything_is(
    options: dict[str, object], told: str, spark: SparkSession, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=told.replace("<", ".").replace(">", ".")):
        result(spark).write(str(tmp_path / "out"), **options)  # type: ignore[arg-type]
    assert not (tmp_path / "out").exists()


def test_the_command_writes_tables_by_name_in_folders(
    spark: SparkSession, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages, waiting = tables(spark)
    messages.createOrReplaceTempView("written_messages")
    waiting.createOrReplaceTempView("written_waiting")
    given = ["--messages", "table:written_messages", "--subscriptions", "table:written_waiting", "--no-near"]
    assert run(["spark", "correlate", *given, "--out", f"table:{name}", "--partition-by", "name"]) == 0
    said_so = " ".join(capsys.readouterr().out.split())
    assert f"table:{name}: verdicts 4" in said_so
    assert f"a next run goes on with --after table:{name}" in said_so
    assert said(spark.table(f"{name}_verdicts")) == EXPECTED
    partitions = spark.sql(f"show partitions {name}_verdicts").collect()
    assert sorted(row[0] for row in partitions) == ["name=000", "name=001"]
    line = ["spark", "correlate", "--messages", f"table:{name}_buffered", *given[2:], "--out", f"table:{name}"]
    assert run([*line, "--overwrite"]) == 2
    assert "a run cannot read what it replaces" in capsys.readouterr().err


def test_the_next_day_goes_on_after_tables_by_name(
    spark: SparkSession, name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    messages, waiting = tables(spark)
    messages.selectExpr("*", "3600000L as ttl_ms").where("position < 2").createOrReplaceTempView("first_messages")
    messages.selectExpr("*", "0L as ttl_ms").where("position > 1").createOrReplaceTempView("next_messages")
    waiting.createOrReplaceTempView("written_waiting")
    day = ["spark", "correlate", "--subscriptions", "table:written_waiting", "--no-near"]
    assert run([*day, "--messages", "table:first_messages", "--out", f"table:{name}"]) == 0
    [told] = spark.table(f"{name}_run").collect()
    assert json.loads(told["run"])["rows"]["buffered"] == 2
    waiting.where("false").createOrReplaceTempView("written_waiting")
    after = [*day, "--messages", "table:next_messages", "--after", f"table:{name}", "--out", str(tmp_path / "next")]
    assert run(after) == 0
    record = json.loads((tmp_path / "next" / "_run.json").read_bytes())
    assert record["since"] == json.loads(told["run"])["as_of"]
    assert record["rows"]["verdicts"] == 4
    assert record["counts"]["kept"] == {"messages": 2}
    capsys.readouterr()
    assert run([*after, "--policy", "*:time_to_live=1h"]) == 2
    assert "was made under other policies" in capsys.readouterr().err
    spark.sql(f"drop table {name}_run")
    assert run(after) == 2
    assert f"--after: table:{name} holds no finished run of correlate" in capsys.readouterr().err

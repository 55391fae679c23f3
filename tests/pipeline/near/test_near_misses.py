"""Near misses across keys in tables: those that the kernel calls near, whoever brings them together."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from conjoin import correlate, sentence
from conjoin.kernel.verdicts.ranking import MOST_TOLD
from conjoin.pipeline.correlate.near import in_memory, writing
from tests.pipeline.near.messy import BEGIN, MESSAGES, WAITING, frames, naive, rows

pytestmark = pytest.mark.spark

ORDERS = 600


def misses_of(row: Any) -> list[tuple[str, str, str]]:
    told = [miss for miss in json.loads(row["detail"])["near_misses"] if miss["kind"] == "other_key"]
    return [(miss.get("name", row["name"]), miss["key"], miss["differs"]) for miss in told]


def read(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / table).to_pylist()
    return found


def same_as_naive(near: list[Any], verdicts: list[Any], opened: list[Any]) -> None:
    expected = naive(verdicts, opened)
    assert {row["position"] for row in near} == set(expected)
    said = {row["position"]: row for row in verdicts}
    for row in near:
        if row["differs"] not in ("time", "tenant"):
            all_of_them = {(name, key): differs for name, key, differs in misses_of(row)}
            assert all_of_them == expected[row["position"]]
        assert expected[row["position"]][row["waiting_name"], row["waiting_key"]] == row["differs"]
        own = said[row["position"]]
        assert [row[name] for name in ("verdict", "reason", "decided_at")] == [
            own[name] for name in ("verdict", "reason", "decided_at")
        ]


@pytest.mark.parametrize("way", ["in memory", "on Spark"])
def test_written_near_misses_are_those_of_the_kernel(
    way: str, spark: SparkSession, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory, "MOST_READ", in_memory.MOST_READ if way == "in memory" else 0)
    with correlate(**frames(spark, rows(seed, ORDERS))) as result:
        run = result.write(str(tmp_path / "out"))
    near = read(tmp_path / "out", "near_misses")
    same_as_naive(near, read(tmp_path / "out", "verdicts"), read(tmp_path / "out", "open"))
    assert len(near) == run.rows["near_misses"] == sum(run.counts.near.values())
    told = json.loads((tmp_path / "out" / "_run.json").read_text())
    assert told["counts"]["near"] == run.counts.near
    assert told["rows"]["near_misses"] == len(near)
    assert set(run.counts.near) >= {"case or blanks only", "prefix"}


def test_lazy_near_misses_are_the_same(spark: SparkSession, seed: int) -> None:
    with correlate(**frames(spark, rows(seed, ORDERS))) as result:
        tables = [frame.collect() for frame in (result.near_misses, result.verdicts, result.open)]
    same_as_naive(*tables)


def test_both_ways_write_the_same_rows(
    spark: SparkSession, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for most in (0, 10**9):
        monkeypatch.setattr(in_memory, "MOST_READ", most)
        with correlate(**frames(spark, rows(seed + 1, ORDERS, 0.3))) as result:
            result.write(str(tmp_path / str(most)))
        found.append(sorted(read(tmp_path / str(most), "near_misses"), key=lambda row: row["position"]))
    assert found[0] == found[1]


def test_a_slip_is_told_in_a_sentence(spark: SparkSession) -> None:
    tables = (
        [(1, "Paid", "ORDER-7 ", BEGIN, 0, None)],
        [("order", "Paid", "order-7", BEGIN, "s-7", "i-7", "wait", None)],
    )
    with correlate(**frames(spark, tables)) as result:
        [row] = result.near_misses.collect()
    assert sentence(row) == (
        "Discarded: nobody waited for 'Paid' with key 'ORDER-7 ' and its time to live is 0; process order"
        " (instance i-7 at wait) waits for it with key 'order-7' - the key differs in case or blanks only."
    )


@pytest.mark.parametrize("most", [0, 10**9])
def test_crowded_keys_do_not_multiply(
    most: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands wait on each of three keys that share a form, a thousand messages mean them, others have no key."""
    monkeypatch.setattr(in_memory, "MOST_READ", most)
    waiting = spark.range(10_000).selectExpr(
        "'order' as process_id",
        "'Paid' as name",
        "if(id < 5000, 'hot', concat('hot', repeat(' ', int(id % 2) + 1))) as correlation_key",
        "timestamp_micros(1770000000000000) as opened_at",
        "format_string('s-%05d', id) as subscription_id",
        "concat('i-', id) as instance_id",
    )
    messages = spark.range(1_500).selectExpr(
        "id as position",
        "'Paid' as name",
        "if(id < 1000, 'HOT', '') as correlation_key",
        "timestamp_micros(1770000000000000 - id) as published_at",
        "0L as ttl_ms",
    )
    with correlate(messages, waiting) as result:
        run = result.write(str(tmp_path / "out"))
    near = read(tmp_path / "out", "near_misses")
    assert sorted(row["position"] for row in near) == list(range(1_000))
    assert run.counts.near == {"case or blanks only": 1_000}
    assert {len(misses_of(row)) for row in near} == {MOST_TOLD}
    assert {row["subscription_id"] for row in near} == {"s-00000"}


def test_nothing_is_looked_for_where_nobody_waits_or_nobody_wants_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> None:
        raise AssertionError("it was looked for")

    monkeypatch.setattr(writing, "_here", never)
    monkeypatch.setattr(writing, "_by_spark", never)
    messages = spark.createDataFrame([(1, "Paid", "a", BEGIN, 0, None)], MESSAGES)
    nobody = spark.createDataFrame([], WAITING)
    with correlate(messages, nobody) as result:
        result.write(str(tmp_path / "nobody"))
    assert read(tmp_path / "nobody", "near_misses") == []
    slip = [("order", "Paid", "A", BEGIN, "s-7", "i-7", "wait", None)]
    with correlate(messages, spark.createDataFrame(slip, WAITING), near=False) as result:
        run = result.write(str(tmp_path / "unwanted"))
        assert result.near_misses.count() == 0
    assert "near_misses" not in run.rows
    assert not (tmp_path / "unwanted" / "near_misses").exists()
    with correlate(messages, spark.createDataFrame(slip, WAITING)) as result:
        result.write(str(tmp_path / "few"), tables=("correlations",))
    assert not (tmp_path / "few" / "near_misses").exists()


def test_only_the_near_misses_can_be_asked_for(spark: SparkSession, seed: int, tmp_path: Path) -> None:
    with correlate(**frames(spark, rows(seed, 200, 0.2))) as result:
        run = result.write(str(tmp_path / "out"), tables=("near_misses",))
    assert run.rows["near_misses"] == len(read(tmp_path / "out", "near_misses")) > 0
    assert sorted(file.name for file in (tmp_path / "out").iterdir()) == ["_run.json", "near_misses"]


@pytest.mark.parametrize("most", [0, 10**9])
def test_where_the_business_id_is_the_key_it_is_compared(
    most: int, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(in_memory, "MOST_READ", most)
    tables = (
        [(1, "Paid", "same", BEGIN, 0, None)],
        [("order", "Paid", "same", BEGIN, "s-7", "i-7", "wait", None)],
    )
    given = frames(spark, tables)
    given["messages"] = given["messages"].withColumn("business_id", F.lit("B-1"))
    given["subscriptions"] = given["subscriptions"].withColumn("business_id", F.lit("b-1"))
    with correlate(**given, policies={"Paid": {"match": "business_key"}}) as result:
        result.write(str(tmp_path / "out"))
    [row] = read(tmp_path / "out", "near_misses")
    assert (row["correlation_key"], row["waiting_key"], row["differs"]) == ("same", "b-1", "case or blanks only")

"""Spark and the oracle say the same of generated histories, and so do Spark and Spark: split, chained, reordered."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline import Correlated
from conjoin.pipeline.correlate import correlate
from tests.oracle.history import show
from tests.oracle.model import play
from tests.pipeline.many import AS_OF, POSITIONS, Many, frame_of, instant, merged, micros

HISTORIES = int(os.environ.get("HISTORIES", "2000"))
CHAINED = 400
KEPT = ("buffered", "open", "locks", "ids")


@pytest.fixture(scope="module")
def many(seed: int) -> Many:
    return Many(seed, HISTORIES)


def said(result: Correlated) -> dict[str, Any]:
    """What a run says, in the oracle's words."""
    verdicts = result.verdicts.collect()
    pairs = result.correlations.collect()
    return {
        "verdicts": {row.position: (row.verdict, row.reason) for row in verdicts},
        "decided_at": {row.position: micros(row.decided_at) for row in verdicts},
        "pairs": {
            (p.position, p.kind, p.process_id, p.subscription_id, p.element_id, micros(p.correlated_at)) for p in pairs
        },
        "buffered": {row.position for row in result.buffered.collect()},
        "open": {row.subscription_id for row in result.open.collect()},
        "locks": {(row.tenant_id, row.process_id, row.correlation_key) for row in result.locks.collect()},
        "ids": {(row.tenant_id, row.name, row.correlation_key, row.message_id) for row in result.ids.collect()},
        "ends_ignored": result.ends_ignored.collect()[0]["count"],
        "refused_subscriptions": {
            json.loads(row.row)["subscription_id"]
            for row in result.dead_letters.collect()
            if row.table == "subscriptions"
        },
    }


def test_spark_and_oracle_agree_on_generated_histories(spark: SparkSession, many: Many, tmp_path: Path) -> None:
    frames = many.frames(spark)
    with correlate(**frames, policies=many.policies(), as_of=AS_OF) as result:
        run = result.write(str(tmp_path / "out"))
        assert run.rows == {name: frame.count() for name, frame in result.tables().items()}
        ours = said(result)
        lost = len(many.rows("messages")) - len(ours["verdicts"])
        later = result.later.where("table = 'messages'").count()
        dead = result.dead_letters.where("table = 'messages'").count()
    assert (lost, dead) == (later, 0)
    theirs = merged([play(history) for history in many.histories])
    for position, verdict in theirs.verdicts.items():
        if ours["verdicts"].get(position) != verdict:
            history = many.histories[position // POSITIONS]
            pytest.fail(f"{position}: oracle {verdict}, Spark {ours['verdicts'].get(position)}\n{show(history)}")
    assert ours["decided_at"] == theirs.decided_at
    assert ours["pairs"] == theirs.pairs
    assert ours["buffered"] == set(theirs.buffered)
    assert ours["open"] == theirs.open
    assert ours["locks"] == set(theirs.locks)
    assert ours["ids"] == {(tenant, name, key, message_id) for tenant, name, key, message_id, _ in theirs.ids}
    assert ours["ends_ignored"] == theirs.ends_ignored
    assert ours["refused_subscriptions"] == theirs.refused_subscriptions


def whole(result: Correlated) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every output, in an order of its own."""
    return {name: sorted(tuple(map(str, row)) for row in frame.collect()) for name, frame in result.tables().items()}


def test_any_number_of_partitions_gives_the_same_rows_written_or_not(
    spark: SparkSession, seed: int, tmp_path: Path
) -> None:
    few = Many(seed, 200)
    frames = few.frames(spark)
    policies = few.policies()
    with correlate(**frames, policies=policies, as_of=AS_OF, partitions=1) as one:
        expected, counts = whole(one), one.counts()
    shuffled = {name: frame.orderBy(F.xxhash64(F.lit(7), *frame.columns)) for name, frame in frames.items()}
    with correlate(**shuffled, policies=policies, as_of=AS_OF, partitions=7) as other:
        run = other.write(str(tmp_path / "out"))
        assert whole(other) == expected
    assert run.counts.tallies == counts.tallies
    assert (run.counts.rows_in, run.counts.dead_letters) == (counts.rows_in, counts.dead_letters)
    for name, frame in one.tables().items():
        assert spark.read.parquet(str(tmp_path / "out" / name)).schema == frame.schema


@pytest.mark.parametrize("cuts", [(5,)] if HISTORIES <= 2_000 else [(5,), (3, 7), (2, 4, 6, 8)])
def test_chained_runs_give_the_pairs_and_last_verdicts_of_one_run(
    spark: SparkSession, seed: int, cuts: tuple[int, ...], tmp_path: Path
) -> None:
    """Days are cut through the middle of the histories, so that everything is carried over, as tables."""
    few = Many(seed + 50_000, CHAINED)
    policies = few.policies()
    frames = few.frames(spark)
    with correlate(**frames, policies=policies, as_of=AS_OF) as one:
        expected = said(one)
        expected_to = {row.position: sorted(row.correlated_to) for row in one.verdicts.collect()}
    instants = [AS_OF - (12 - cut) * 1_000 for cut in cuts] + [AS_OF]
    verdicts: dict[int, Any] = {}
    decided: dict[int, int] = {}
    correlated_to: dict[int, list[str]] = {}
    pairs: set[Any] = set()
    since: int | None = None
    ended = 0
    for as_of in instants:
        tables = {name: frame_of(spark, name, _between(few.rows(name), name, since, as_of)) for name in frames}
        tables["starts"] = frames["starts"]
        if since is not None:
            kept = {name: spark.read.parquet(f"{tmp_path}/{since}/{name}") for name in KEPT}
            tables["messages"] = tables["messages"].unionByName(kept["buffered"], allowMissingColumns=True)
            tables["subscriptions"] = tables["subscriptions"].unionByName(kept["open"], allowMissingColumns=True)
            tables |= {"locks": kept["locks"], "ids": kept["ids"]}
        before = correlate(**tables, policies=policies, as_of=as_of, since=since)
        before.write(f"{tmp_path}/{as_of}")
        today = said(before)
        assert before.dead_letters.where("reason = 'late'").count() == 0
        verdicts |= today["verdicts"]
        decided |= today["decided_at"]
        pairs |= today["pairs"]
        ended += today["ends_ignored"]
        correlated_to |= {row.position: sorted(row.correlated_to) for row in before.verdicts.collect()}
        since = as_of
    assert verdicts == expected["verdicts"]
    assert decided == expected["decided_at"]
    assert pairs == expected["pairs"]
    assert correlated_to == expected_to
    assert ended == expected["ends_ignored"]
    assert {name: today[name] for name in KEPT} == {name: expected[name] for name in KEPT}


_TIME = {"messages": "published_at", "subscriptions": "opened_at", "ends": "ended_at"}


def _between(rows: list[dict[str, Any]], table: str, since: int | None, until: int) -> list[dict[str, Any]]:
    """The rows of one day. A closing comes with its opening, even if it lies in a later day."""
    if table not in _TIME:
        return rows
    return [row for row in rows if (since is None or row[_TIME[table]] > since) and row[_TIME[table]] <= until]


def test_rows_before_the_previous_run_are_late(spark: SparkSession) -> None:
    messages = frame_of(spark, "messages", [{"name": "n", "published_at": 5, "position": 1}])
    subscriptions = frame_of(
        spark, "subscriptions", [{"process_id": "p", "name": "n", "opened_at": 4, "subscription_id": "s"}]
    )
    ends = frame_of(spark, "ends", [{"process_id": "p", "ended_at": 3}])
    with correlate(messages, subscriptions, ends=ends, since=instant(10), as_of=instant(20)) as result:
        assert result.verdicts.count() == 0
        letters = {(row.table, row.reason) for row in result.dead_letters.collect()}
    assert letters == {("messages", "late"), ("subscriptions", "late"), ("ends", "late")}

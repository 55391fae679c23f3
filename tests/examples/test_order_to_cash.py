"""The example keeps what its plan promises: every place of every block gets its verdict and reason."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from examples.order_to_cash.cases import PLACES, SHOP, cases

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

N = 2_000
BROKEN = {99: "missing_time", 199: "bad_variables"}


@pytest.fixture(scope="module")
def outcome(spark: "SparkSession") -> Iterator[dict[str, list[Any]]]:
    from conjoin import correlate
    from examples.order_to_cash.tables import tables

    frames = {name: spark.createDataFrame(table) for name, table in tables(N).items()}
    with correlate(**frames) as correlated:
        verdicts = correlated.verdicts.select("position", "verdict", "reason", "detail", "correlation_key").collect()
        yield {
            "verdicts": verdicts,
            "correlations": correlated.correlations.select(
                "position", "process_id", "kind", "subscription_id"
            ).collect(),
            "dead_letters": correlated.dead_letters.collect(),
            "locks": correlated.locks.select("correlation_key").collect(),
        }


def test_every_place_gets_its_planned_verdict_and_reason(outcome: dict[str, list[Any]]) -> None:
    plan = cases()
    wrong = [
        (row["position"] % PLACES, plan[row["position"] % PLACES].what, row["verdict"], row["reason"], row["detail"])
        for row in outcome["verdicts"]
        if (row["verdict"], row["reason"]) != _planned(row["position"])
    ]
    assert wrong == []


def _planned(position: int) -> tuple[str, str]:
    case = cases()[position % PLACES]
    return case.verdict, case.reason


def test_every_message_is_told_of_exactly_once(outcome: dict[str, list[Any]]) -> None:
    positions = [row["position"] for row in outcome["verdicts"]]
    broken = [number for number in range(N) if number % 1_000 in BROKEN]
    assert sorted(positions) == [number for number in range(N) if number not in broken]
    assert Counter(row["reason"] for row in outcome["dead_letters"]) == Counter(
        BROKEN[number % 1_000] for number in broken
    )


def test_most_messages_are_simply_correlated_and_every_reason_is_there(outcome: dict[str, list[Any]]) -> None:
    counts = Counter((row["verdict"], row["reason"]) for row in outcome["verdicts"])
    plain = counts["correlated", "waiting_instance"] + counts["correlated", "waiting_instance_later"]
    assert 0.75 <= plain / N <= 0.80
    assert set(counts) == {(case.verdict, case.reason) for case in cases()}


def test_two_processes_take_one_message_and_one_subscription_many(outcome: dict[str, list[Any]]) -> None:
    takers = Counter(row["position"] for row in outcome["correlations"] if row["position"] % PLACES == 70)
    assert set(takers.values()) == {2}
    taken = Counter(row["subscription_id"] for row in outcome["correlations"])
    assert {taken[f"s-{number}"] for number in range(72, N, PLACES)} == {3}


def test_started_instances_hold_their_keys_until_they_end(outcome: dict[str, list[Any]]) -> None:
    started = [row for row in outcome["correlations"] if row["kind"] == "start"]
    assert {row["process_id"] for row in started} == {SHOP}
    assert len(started) == 3 * N // PLACES
    # Of the two orders of a block one is never ended, the other's second instance runs on.
    assert len(outcome["locks"]) == 2 * N // PLACES


def test_misspelled_name_is_told_with_the_one_that_was_meant(outcome: dict[str, list[Any]]) -> None:
    details = [row["detail"] for row in outcome["verdicts"] if row["position"] % PLACES == 83]
    assert details
    assert all('"differs":"case or blanks only"' in detail for detail in details)


def test_written_tables_are_those_of_one_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pyarrow.parquet as pq

    from examples.order_to_cash import tables as example

    monkeypatch.setattr(example, "ROWS_A_FILE", 130)
    for _ in range(2):  # the second time over the files of the first
        example.write_tables(tmp_path, 301)
    for name, table in example.tables(301).items():
        assert pq.read_table(tmp_path / name).equals(table)

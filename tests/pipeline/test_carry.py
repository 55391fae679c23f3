"""`carry`: which further columns of messages travel into the verdicts. And keys with very many rows are said."""

import warnings
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from conjoin import correlate
from conjoin.errors import InputError
from conjoin.pipeline.correlate import job
from conjoin.pipeline.correlate.fold.counts import PartitionCounts
from tests.pipeline.near.messy import BEGIN, WAITING

pytestmark = pytest.mark.spark

MESSAGES = "position long, name string, correlation_key string, published_at timestamp, `a.b` string, payload string"


def test_only_what_was_asked_for_travels(spark: SparkSession, tmp_path: Path) -> None:
    messages = spark.createDataFrame([(1, "Paid", "a", BEGIN, "x", "y")], MESSAGES)
    waiting = spark.createDataFrame([], WAITING)
    own = ["position", "name", "correlation_key", "published_at"]
    with pytest.warns(UserWarning, match=r"a\.b, payload"):
        everything = correlate(messages, waiting).verdicts.columns
    assert everything[:6] == [*own, "a.b", "payload"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        for carry, more in (((), []), (("a.b",), ["a.b"]), (["payload", "name"], ["payload"])):
            with correlate(messages, waiting, carry=carry) as result:
                assert result.verdicts.columns[: 4 + len(more)] == [*own, *more]
                assert "verdict" in result.verdicts.columns[4 + len(more)]
    with pytest.raises(InputError, match="carry: messages has no column colour; it has position, name"):
        correlate(messages, waiting, carry=["colour"])


def test_prior_verdicts_travel_whatever_was_asked_for(spark: SparkSession) -> None:
    messages = spark.createDataFrame([(1, "Paid", "a", BEGIN, "x", "y")], MESSAGES).selectExpr(
        "*", "86400000L as ttl_ms"
    )
    waiting = spark.createDataFrame([], WAITING)
    with correlate(messages, waiting, carry=["payload"]) as first:
        [row] = correlate(first.buffered, waiting, since=BEGIN, carry=["payload"]).verdicts.collect()
    assert (row["verdict"], row["payload"]) == ("buffered", "y")


@pytest.mark.parametrize(
    ("largest", "said"),
    [
        (
            (200_000, "hot"),
            ["200,000 of 1,000,000 rows have the key 'hot': they are carried out in order, by one task"],
        ),
        (
            (200_000, ""),
            ["200,000 of 1,000,000 rows have no correlation key: they are carried out in order, by one task"],
        ),
        ((40_000, "hot"), []),
    ],
)
def test_crowded_key_is_said(largest: tuple[int, str], said: list[str]) -> None:
    counts = PartitionCounts(rows_in={"messages": 600_000, "subscriptions": 400_000}, largest_key=largest)
    assert list(job._crowded(counts)) == said

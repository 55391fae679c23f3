"""Whether a position occurs twice is told before anything is decided, by whichever way costs least."""

import pytest
from pyspark.sql import SparkSession

from conjoin.pipeline.correlate import first_pass
from conjoin.pipeline.correlate.columns import types_of
from conjoin.pipeline.correlate.first_pass import look_over

EVERY = "id + 5 as position"
CASES = {
    EVERY: 0,
    "if(id = 7, null, id) as position": 0,
    "id * 1000000007 as position": 0,
    "if(id = 7, 8, id) as position": 1,
    "if(id = 7, 8, if(id = 9, 10, id)) as position": 2,
    "-(id div 2) as position": 1_500,
}


@pytest.mark.parametrize("hashed_here", [first_pass._MANY, 0], ids=["numbers hashed here", "numbers hashed by Spark"])
def test_repeated_positions_are_counted(hashed_here: int, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(first_pass, "_MANY", hashed_here)
    monkeypatch.setattr(first_pass, "_AT_ONCE", 1_000)
    at = "timestamp_micros(id) as published_at"
    for positions, repeated in CASES.items():
        messages = spark.range(3_000).selectExpr("'n' as name", at, positions)
        found = look_over({"messages": messages}, {"messages": types_of(messages)}, None, False)
        assert (found.repeated, found.as_of) == (repeated, 2_999), positions


def test_every_number_is_told_without_a_look_at_each(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of hashing give the sum that the table gives: else each run would count positions one by one."""
    monkeypatch.setattr(first_pass, "_are_different", lambda *_: pytest.fail("one by one"))
    messages = spark.range(3_000).selectExpr("'n' as name", "timestamp_micros(id) as published_at", EVERY)
    for hashed_here in (first_pass._MANY, 0):
        monkeypatch.setattr(first_pass, "_MANY", hashed_here)
        assert look_over({"messages": messages}, {"messages": types_of(messages)}, None, False).repeated == 0

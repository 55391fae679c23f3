"""Policies go through correlate as they are written: checked before any job, and harmless in one."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conjoin.errors import PolicyError
from conjoin.kernel.policies import Policies, Policy
from conjoin.pipeline.correlate import correlate
from conjoin.pipeline.correlate.correlate import Guarded

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
EVENING = datetime(2026, 1, 31, 20, tzinfo=UTC)
MESSAGES = "name string, correlation_key string, business_id string, published_at timestamp"
SUBSCRIPTIONS = (
    "process_id string, name string, correlation_key string, business_id string, opened_at timestamp, "
    "instance_id string"
)


def run(spark: SparkSession, names: list[str], policies: Any, profile: str = "zeebe") -> dict[str, Any]:
    """Each name: a message with key k and business id b, and three instances, of which one has that business id."""
    messages = spark.createDataFrame([(name, "k", "b", NOON) for name in names], MESSAGES)
    waiting = [
        row
        for name in names
        for row in (
            ("p", name, "k", "other", NOON, "same key"),
            ("p", name, "elsewhere", "b", NOON, "same business"),
            ("p", name, "k", "b", NOON, "both"),
        )
    ]
    subscriptions = spark.createDataFrame(waiting, SUBSCRIPTIONS)
    with correlate(messages, subscriptions, policies=policies, profile=profile, as_of=EVENING, partitions=1) as result:
        verdicts = result.verdicts.collect()
        assert {row.correlation_key for row in verdicts} == {"k"}, "input columns come back as they were"
        return {row.name: (row.verdict, row.reason, sorted(row.correlated_to)) for row in verdicts}


def _fails(message: Any, subscription: Any) -> bool:
    raise ArithmeticError("never seen by anybody")


def test_each_name_has_the_policy_written_for_it(spark: SparkSession) -> None:
    policies = {
        "by business": {"match": "business_key", "cardinality": "all"},
        "not both": {"constraint": lambda message, subscription: subscription.instance_id != "both"},
        "failing": {"constraint": lambda message, subscription: 1 / 0, "on_no_match": "discard"},
        "kept": {"constraint": lambda message, subscription: False, "time_to_live": "1d"},
    }
    said = run(spark, ["plain", *policies], policies)
    assert said["plain"] == ("correlated", "waiting_instance", ["both"])
    assert said["by business"] == ("correlated", "waiting_instance", ["both", "same business"])
    assert said["not both"][0] == "discarded"
    assert said["failing"] == ("discarded", "policy", [])
    assert said["kept"] == ("buffered", "nobody_waits", [])


def test_a_profile_and_a_change_for_all_names_hold_for_all_but_those_with_their_own(spark: SparkSession) -> None:
    policies = {
        "*": {"match": "business_key", "duplicate_subscription": "allow"},
        "by key": {"match": "key"},
        "all": {"cardinality": "all"},
    }
    said = run(spark, ["any", *(name for name in policies if name != "*")], policies, profile="fleans")
    assert said["any"] == ("refused", "ambiguous", [])
    assert said["by key"] == ("correlated", "waiting_instance", ["both"])
    assert said["all"] == ("correlated", "waiting_instance", ["both", "same business"])


@pytest.mark.parametrize(("profile", "receivers"), [("zeebe", 1), ("zeebe-0.2x", 2)])
def test_profile_of_the_older_pages_reaches_every_instance(spark: SparkSession, profile: str, receivers: int) -> None:
    messages = spark.createDataFrame([("Money collected", "0000-123", None, NOON)], MESSAGES)
    waiting = [("order", "Money collected", "0000-123", None, NOON, instance) for instance in ("one", "two")]
    subscriptions = spark.createDataFrame(waiting, SUBSCRIPTIONS)
    with correlate(messages, subscriptions, profile=profile, as_of=EVENING, partitions=1) as result:
        [verdict] = result.verdicts.collect()
    assert len(set(verdict.correlated_to)) == receivers


def test_bad_policies_are_one_error_that_names_them_all(spark: SparkSession) -> None:
    policies = {
        "*": {"cardinality": "some", "time_to_live": "soon"},
        "n": {"colour": "red", "constraint": "a > b"},
        "m": {"dedup": "off", "on_duplicate": "acknowledge"},
    }
    empty = spark.createDataFrame([], MESSAGES), spark.createDataFrame([], SUBSCRIPTIONS)
    with pytest.raises(PolicyError) as raised:
        correlate(*empty, policies=policies, profile="zebra")
    beginnings = [
        "profile: 'zebra'",
        "policy '*': cardinality",
        "policy '*': time_to_live",
        "policy 'n': colour",
        "policy 'n': constraint",
        "policy 'm': on_duplicate",
    ]
    problems = raised.value.problems
    assert len(problems) == len(beginnings)
    assert all(problem.startswith(begin) for problem, begin in zip(problems, beginnings, strict=True))


def test_a_constraint_that_fails_says_no() -> None:
    assert Guarded(_fails)(None, None) is False  # type: ignore[arg-type]
    assert Guarded(lambda message, subscription: "yes")(None, None) is True  # type: ignore[arg-type, return-value]


def test_policies_made_by_hand_are_taken(spark: SparkSession) -> None:
    book = Policies(by_name={"failing": Policy(constraint=_unpicklable_by_name())})
    assert run(spark, ["failing"], book)["failing"] == ("discarded", "ttl_zero", [])


def _unpicklable_by_name() -> Any:
    """A function that only exists here: it must travel to the workers by value."""
    return lambda message, subscription: _fails(message, subscription)

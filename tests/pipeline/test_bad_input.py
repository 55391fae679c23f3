"""Nothing is lost: what cannot be read is a dead letter with its reason, all else gets the rule's answer.

Cases share jobs: each has a name of its own (its label), and most a key of its own, so that they never meet.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from conjoin.pipeline import Correlated
from conjoin.pipeline.correlate import correlate

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
MORNING = datetime(2026, 1, 31, 8, tzinfo=UTC)
EVENING = datetime(2026, 1, 31, 20, tzinfo=UTC)
LONGEST = "k" * 32_768
UNICODE = {
    "emoji": "🛒👩‍👩‍👧",
    "combining": "e\u0301",
    "composed": "\u00e9",
    "right to left": "הזמנה \u202e42",
    "nul": "a\x00b",
}

# label -> (columns that differ, reason of the dead letter or None). All are text, as a CSV file would bring them.
MESSAGES: dict[str, tuple[dict[str, Any], str | None]] = {
    "plain": ({}, None),
    "no key": ({"correlation_key": None}, None),
    "empty key": ({"correlation_key": ""}, None),
    "negative ttl": ({"ttl_ms": "-5"}, None),
    "ttl with blanks": ({"ttl_ms": " 1000 "}, None),
    "no ttl": ({"ttl_ms": None}, None),
    "longest ttl": ({"ttl_ms": str(2**63 - 1)}, None),
    "ttl beyond a long": ({"ttl_ms": str(2**63)}, "bad_ttl"),
    "ttl is a word": ({"ttl_ms": "soon"}, "bad_ttl"),
    "ttl is a fraction": ({"ttl_ms": "1.5"}, "bad_ttl"),
    "time is a word": ({"published_at": "yesterday"}, "bad_time"),
    "time of day alone": ({"published_at": "12:00:00"}, "bad_time"),
    "no such day": ({"published_at": "2026-02-30T12:00:00Z"}, "bad_time"),
    "no time": ({"published_at": None}, "missing_time"),
    "blank time": ({"published_at": "  "}, "missing_time"),
    "time without a zone": ({"published_at": "2026-01-31T12:00:00"}, None),
    "time with a zone": ({"published_at": "2026-01-31 14:00:00+02:00"}, None),
    "time with a region": ({"published_at": "2026-01-31 13:00:00 Europe/Berlin"}, None),
    "a day": ({"published_at": "2026-01-31"}, None),
    "an array": ({"variables": "[1]"}, "bad_variables"),
    "a number": ({"variables": "1"}, "bad_variables"),
    "cut off": ({"variables": '{"a": 1'}, "bad_variables"),
    "more behind it": ({"variables": '{"a": 1} {}'}, "bad_variables"),
    "no JSON at all": ({"variables": ""}, "bad_variables"),
    "no variables": ({"variables": None}, None),
    "long key": ({"correlation_key": "k" * 40_000}, "too_large"),
    "longest key": ({"correlation_key": LONGEST}, None),
    "longest key of wide characters": ({"correlation_key": "é" * 32_768}, None),
    "position is a word": ({"position": "first"}, "bad_type"),
    "taken by no list": ({"taken_by": "me"}, "bad_type"),
    "taken by numbers": ({"taken_by": "[1, null]"}, None),
    "after as_of": ({"published_at": "2026-02-01T00:00:00Z"}, "later"),
} | {label: ({"correlation_key": key}, None) for label, key in UNICODE.items()}
NAMELESS = [None, "", "   ", "\t\u00a0"]

SUBSCRIPTIONS: dict[str, tuple[dict[str, Any], str | None]] = {
    "no opening": ({"opened_at": None}, "missing_time"),
    "opened some day": ({"opened_at": "some day"}, "bad_time"),
    "closed some day": ({"closed_at": "some day"}, "bad_time"),
    "interrupting is a word": ({"interrupting": "perhaps"}, "bad_type"),
    "no process": ({"process_id": None}, "missing_name"),
    "blank process": ({"process_id": " \t"}, "missing_name"),
    "long key waits": ({"correlation_key": "k" * 40_000}, "too_large"),
    "closed when it opened": ({"closed_at": "2026-01-31T13:00:00Z"}, "never"),
    "closed before it opened": ({"closed_at": "2026-01-31T12:00:00Z"}, "never"),
    "opened after as_of": ({"opened_at": "2026-02-02", "closed_at": "2026-02-03"}, "later"),
    "waits": ({"interrupting": "no"}, None),
}
STARTS = [
    ("p", None, None, "missing_name"),
    ("p", " ", None, "missing_name"),
    (None, "n", None, "missing_name"),
    ("p", "n", "some day", "bad_time"),
    ("p", "starts", "", None),
]
ENDS = [
    ("p", "k", "2026-01-31", None),
    ("p", "k", "2026-03-01", "later"),
    ("p", "k", None, "missing_time"),
    ("p", "k", "some day", "bad_time"),
    (" ", "k", "2026-01-31", "missing_name"),
]


def text_table(spark: SparkSession, rows: list[dict[str, Any]], columns: str) -> DataFrame:
    names = columns.split()
    data = [tuple(row.get(name) for name in names) for row in rows]
    return spark.createDataFrame(data, ", ".join(f"{name} string" for name in names))


def message_rows() -> list[dict[str, Any]]:
    usual = {"published_at": "2026-01-31T12:00:00Z", "variables": "{}"}
    rows = [{**usual, "name": label, "correlation_key": label, **more} for label, (more, _) in MESSAGES.items()]
    return rows + [{**usual, "name": name, "correlation_key": "nameless"} for name in NAMELESS]


@pytest.fixture(scope="module")
def bad(spark: SparkSession) -> Iterator[Correlated]:
    """Every fault of a row at once, in tables of nothing but text."""
    messages = text_table(
        spark, message_rows(), "name correlation_key published_at ttl_ms variables position taken_by message_id"
    )
    usual = {"process_id": "p", "opened_at": "2026-01-31T13:00:00Z"}
    waiting = [
        {**usual, "name": label, "correlation_key": label, "subscription_id": label, **more}
        for label, (more, _) in SUBSCRIPTIONS.items()
    ]
    waiting += [{**usual, "name": "twice", "correlation_key": "twice", "subscription_id": "twice"}] * 2
    waiting += [{**usual, "name": "unnamed", **ids} for ids in ({"instance_id": "x"}, {"element_id": "x"})]
    waiting += [{**usual, "process_id": label, "name": label, "correlation_key": key} for label, key in UNICODE.items()]
    waiting += [{**usual, "process_id": "longest", "name": "longest key", "correlation_key": LONGEST}]
    subscriptions = text_table(
        spark,
        [{"opened_at": "2026-01-31T11:00:00Z", **row} | _early(row) for row in waiting],
        "process_id name correlation_key opened_at closed_at subscription_id instance_id element_id interrupting",
    )
    starts = spark.createDataFrame([row[:3] for row in STARTS], "process_id string, name string, from_at string")
    ends = spark.createDataFrame(
        [row[:3] for row in ENDS], "process_id string, correlation_key string, ended_at string"
    )
    with correlate(messages, subscriptions, starts, ends, as_of=EVENING, partitions=2) as result:
        yield result


def _early(row: dict[str, Any]) -> dict[str, Any]:
    """Who shall receive something waits before noon."""
    return {"opened_at": "2026-01-31T11:00:00Z"} if row["name"] in UNICODE or row["name"] == "longest key" else {}


@pytest.fixture(scope="module")
def letters(bad: Correlated) -> list[tuple[str, dict[str, Any], str, dict[str, Any]]]:
    return [(x.table, json.loads(x.row), x.reason, json.loads(x.detail)) for x in bad.dead_letters.collect()]


@pytest.fixture(scope="module")
def verdicts(bad: Correlated) -> dict[str, Any]:
    return {row.name: row for row in bad.verdicts.collect()}


def test_each_message_is_a_verdict_a_dead_letter_or_later(letters: Any, verdicts: Any, bad: Correlated) -> None:
    dead = {
        row["name"]: reason for table, row, reason, _ in letters if table == "messages" and row.get("name") in MESSAGES
    }
    later = {json.loads(row.row)["name"]: "later" for row in bad.later.collect() if row.table == "messages"}
    found = dict.fromkeys(verdicts) | dead | later
    assert found == {label: reason for label, (_, reason) in MESSAGES.items()}
    assert len(found) == len(verdicts) + len(dead) + len(later)


def test_a_null_or_blank_name_is_missing(letters: Any) -> None:
    nameless = [row.get("name") for table, row, reason, _ in letters if (table, reason) == ("messages", "missing_name")]
    assert Counter(nameless) == Counter(NAMELESS)


def test_a_dead_letter_tells_column_and_value_and_keeps_the_row_as_it_came(letters: Any) -> None:
    row, detail = next((row, detail) for _, row, reason, detail in letters if row.get("name") == "ttl is a word")
    assert detail == {"column": "ttl_ms", "value": "soon"}
    assert row == message_rows()[list(MESSAGES).index("ttl is a word")]


def test_each_faulty_subscription_is_a_dead_letter(letters: Any, bad: Correlated) -> None:
    dead = {row["name"]: reason for table, row, reason, _ in letters if table == "subscriptions"}
    later = {json.loads(row.row)["name"]: "later" for row in bad.later.collect() if row.table == "subscriptions"}
    expected = {label: reason for label, (_, reason) in SUBSCRIPTIONS.items() if reason not in (None, "never")}
    assert dead | later == expected | {"twice": "duplicate_subscription"}


def test_a_subscription_closed_when_it_opens_never_opens(bad: Correlated) -> None:
    opened = bad.open.collect()
    assert {row.name for row in opened} == {"waits", "twice", "unnamed"}
    assert [row.interrupting for row in opened if row.name == "waits"] == [False]


def test_subscriptions_without_ids_that_differ_are_two(bad: Correlated) -> None:
    unnamed = [row for row in bad.open.collect() if row.name == "unnamed"]
    assert len({row.subscription_id for row in unnamed}) == 2


def test_faulty_starts_and_ends_are_dead_letters(letters: Any, bad: Correlated) -> None:
    for table, rows in (("starts", STARTS), ("ends", ENDS)):
        expected = Counter(reason for *_, reason in rows if reason not in (None, "later"))
        assert Counter(reason for name, _, reason, _ in letters if name == table) == expected
    assert bad.ends_ignored.collect()[0]["count"] == 1


def test_later_rows_keep_their_table_and_their_values(bad: Correlated) -> None:
    later = {row.table: json.loads(row.row) for row in bad.later.collect()}
    assert set(later) == {"messages", "subscriptions", "ends"}
    assert later["messages"]["published_at"] == "2026-02-01T00:00:00Z"
    assert later["messages"]["variables"] == "{}"
    assert later["subscriptions"]["closed_at"] == "2026-02-03T00:00:00Z"
    assert later["ends"]["ended_at"] == "2026-03-01T00:00:00Z"


def at(moment: datetime) -> datetime:
    """Spark hands out the local time of this machine, without a zone."""
    return moment.astimezone(UTC)


def test_a_time_without_a_zone_is_utc(verdicts: Any) -> None:
    for label in ("time without a zone", "time with a zone", "time with a region"):
        assert at(verdicts[label].decided_at) == NOON, label
    assert at(verdicts["a day"].decided_at) == datetime(2026, 1, 31, tzinfo=UTC)


def test_a_ttl_of_nothing_or_less_is_discarded_and_the_longest_lasts(verdicts: Any) -> None:
    for label in ("plain", "no ttl", "negative ttl"):
        assert (verdicts[label].verdict, verdicts[label].reason) == ("discarded", "ttl_zero"), label
    assert verdicts["ttl with blanks"].verdict == "expired"
    assert verdicts["longest ttl"].verdict == "buffered"


def test_keys_meet_whatever_they_are_written_in(bad: Correlated, verdicts: Any) -> None:
    for label in [*UNICODE, "longest key"]:
        assert verdicts[label].verdict == "correlated", label
    pairs = {row.name: row for row in bad.correlations.collect()}
    assert {label: pairs[label].correlation_key for label in UNICODE} == UNICODE
    assert all(pairs[label].process_id == label for label in UNICODE)

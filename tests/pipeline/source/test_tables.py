"""The tables of the data source say what the lists, the explanations and the log of the store say."""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conjoin.kernel.instants import NEVER
from conjoin.pipeline.correlate.fold.deadlines import LAST_DAY
from conjoin.pipeline.source.reader import ConjoinReader
from conjoin.pipeline.source.tables import TABLES
from conjoin.runtime.broker import Broker
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.opening import open_broker
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.run.log import read_block
from conjoin.runtime.upkeep.reshard import reshard_store
from tests.pipeline.source.stories import SHARDS, asking, read

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
OURS = {"storage": "state"}
"""What the lists call otherwise."""


def rows(broker: Broker, table: str, **options: Any) -> list[dict[str, Any]]:
    return read(asking(broker.store.address, table, **options))


def listed(broker: Broker, what: str) -> list[Any]:
    return list_page(broker, what, ListQuery(limit=10_000)).items


def shown(value: Any, name: str) -> Any:
    """A value of a list as a table shows it."""
    if name.endswith("_at") and value is not None:
        return None if value > LAST_DAY else EPOCH + timedelta(microseconds=value)
    return value


def by_key(found: list[dict[str, Any]], key: str = "key") -> dict[int, dict[str, Any]]:
    assert len({row[key] for row in found}) == len(found) > 0
    return {row[key]: row for row in found}


@pytest.mark.parametrize("what", ["messages", "subscriptions", "instances", "incidents"])
def test_rows_are_those_of_the_lists(stories: Broker, what: str) -> None:
    found = by_key(rows(stories, what))
    items = listed(stories, what)
    assert sorted(found) == sorted(item.key for item in items)
    for item in items:
        row = found[item.key]
        for name, value in item._asdict().items():
            if name not in ("attempts", "replaced_by"):
                assert row[OURS.get(name, name)] == shown(value, name), (item.key, name)


def test_the_stories_have_all_that_the_tables_tell_apart(stories: Broker) -> None:
    """What is compared here must be there."""
    messages, subscriptions, instances = (rows(stories, what) for what in ("messages", "subscriptions", "instances"))
    assert {row["verdict"] for row in messages} == {"correlated", "buffered", "expired", "discarded", "refused"}
    assert {row["state"] for row in messages} == {"buffered", "expired", "none"}
    assert {row["state"] for row in subscriptions} == {"open", "closed"}
    assert {row["state"] for row in instances} == {"active", "completed", "terminated"}
    assert {row["shard"] for row in messages} == {row["shard"] for row in instances} == set(range(SHARDS))
    assert len(rows(stories, "incidents")) == 1
    assert {row["kind"] for row in rows(stories, "correlations")} == {"subscription", "start"}


def test_a_message_without_an_end_has_no_deadline(stories: Broker) -> None:
    [kept] = [row for row in rows(stories, "messages") if row["correlation_key"] == "for ever"]
    assert kept["deadline_at"] is None
    [item] = [item for item in listed(stories, "messages") if item.correlation_key == "for ever"]
    assert item.deadline_at == NEVER


def test_variables_are_json_that_keeps_every_digit(stories: Broker) -> None:
    seats = [row["variables"] for row in rows(stories, "messages") if row["name"] == "left"]
    assert sorted(seats) == ['{"seat":0}', '{"seat":1}', '{"seat":2}']
    orders = [row for row in rows(stories, "instances") if row["business_id"] == "b-1"]
    assert len(orders) == 6
    assert all('"lines":[{"sku":"ä","price":1.10}]' in row["variables"] for row in orders)
    tickets = [row for row in rows(stories, "instances") if row["process_id"].endswith("ticket")]
    assert {row["variables"] for row in tickets} == {"{}", '{"done":true}'}


def test_every_message_has_the_verdict_that_explain_gives(stories: Broker) -> None:
    found = by_key(rows(stories, "verdicts"), "message_key")
    assert found.keys() == {item.key for item in listed(stories, "messages")}
    for key, row in found.items():
        told = explain(stories, key)
        assert isinstance(told, Explanation)
        assert (row["verdict"], row["reason"]) == (told.verdict, told.reason)
        assert row["decided_at"] == shown(told.decided_at, "decided_at")
        assert row["correlated_to"] == [attempt.instance for attempt in told.attempts]


def test_the_detail_of_a_verdict_is_what_explain_says_without_looking_around(stories: Broker) -> None:
    around = ("near_misses", "next_subscription", "version")
    for row in rows(stories, "verdicts"):
        told: Any = explain(stories, row["message_key"])
        said = {name: value for name, value in told.as_json()["parameters"].items() if name not in around}
        if row["verdict"] == "buffered":
            said = {"deadline_at": said["deadline_at"]}
        assert {name: it for name, it in json.loads(row["detail"]).items() if name != "near_misses"} == said


def test_there_is_a_correlation_for_each_who_took_a_message(stories: Broker) -> None:
    found = Counter(
        (row["message_key"], row["process_id"], row["instance_key"], row["element_id"], row["correlated_at"])
        for row in rows(stories, "correlations")
    )
    expected = Counter(
        (item.key, it.process, it.instance, it.element, shown(it.offered_at, "offered_at"))
        for item in listed(stories, "messages")
        for it in item.attempts
        if it.outcome in ("taken", "started")
    )
    assert found == expected
    assert sum(found.values()) > len({row["message_key"] for row in rows(stories, "correlations")})


def test_a_correlation_names_the_subscription_or_none_where_it_started_an_instance(stories: Broker) -> None:
    for row in rows(stories, "correlations"):
        assert (row["subscription_key"] is None) == (row["kind"] == "start") == (row["reason"].startswith("started"))


def test_events_are_those_of_the_log_in_their_order(stories: Broker) -> None:
    found = rows(stories, "events")
    assert len({(row["shard"], row["version"], row["number"]) for row in found}) == len(found)
    told = [
        (shard, block.version, number, event.kind, entry.at)
        for shard in range(SHARDS)
        for block in stories.store.shard(shard).log()
        for number, (entry, event) in enumerate(_events(block), 1)
    ]
    ours = [(row["shard"], row["version"], row["number"], row["kind"], row["at"]) for row in found]
    assert sorted(ours) == [(*event, shown(at, "_at")) for *event, at in sorted(told)]


def _events(block: Any) -> list[tuple[Any, Any]]:
    return [(entry, event) for entry in read_block(block.block) for event in entry.events]


def test_events_can_be_joined_with_messages_and_instances_by_their_keys(stories: Broker) -> None:
    events = rows(stories, "events")
    messages = by_key(rows(stories, "messages"))
    published = [row for row in events if row["kind"] == "MessagePublished"]
    assert Counter(row["message_key"] for row in published) == Counter(
        key for key, row in messages.items() if row["verdict"] != "refused"
    )
    for row in published:
        its = messages[row["message_key"]]
        place = ("name", "correlation_key", "tenant_id")
        assert [row[name] for name in place] == [its[name] for name in place]
        assert (row["at"], row["request"]) == (its["published_at"], "NewMessage")
    created = [row for row in events if row["kind"] == "InstanceCreated"]
    assert {row["instance_key"] for row in created} == {row["key"] for row in rows(stories, "instances")}
    assert all(json.loads(row["body"])["key"] == row["key"] == row["instance_key"] for row in created)


def test_events_of_waiting_on_another_shard_name_what_is_waited_for(stories: Broker) -> None:
    """The order that one shard gives to another carries the subscription."""
    opened = [row for row in rows(stories, "events") if row["request"] == "OpenSubscription"]
    assert opened
    assert {row["name"] for row in opened} <= {"arrived", "left"}
    assert all(row["correlation_key"] and row["tenant_id"] == "<default>" for row in opened)


@pytest.mark.parametrize("table", TABLES)
def test_a_shard_read_in_parts_gives_every_row_once(stories: Broker, table: str) -> None:
    def sorted_rows(parts: int) -> list[str]:
        return sorted(map(repr, rows(stories, table, partitions_per_shard=parts)))

    assert sorted_rows(1) == sorted_rows(2) == sorted_rows(7)


@pytest.mark.parametrize("table", ["messages", "events"])
def test_parts_of_a_shard_share_its_rows(stories: Broker, table: str) -> None:
    reader = ConjoinReader(asking(stories.store.address, table, partitions_per_shard=8))
    parts = reader.partitions()
    assert Counter(part.shard for part in parts) == dict.fromkeys(range(SHARDS), 8)
    filled = Counter(part.shard for part in parts if list(reader.read(part)))
    assert all(filled[shard] > 1 for shard in range(SHARDS)), filled


def test_a_store_with_another_number_of_shards_gives_the_same_rows(sqlite_stories: Broker, tmp_path: Path) -> None:
    reshard_store(sqlite_stories.store, 2, tmp_path / "fewer", lambda text: None)
    fewer = open_broker(tmp_path / "fewer", lambda: sqlite_stories.now)
    for table in TABLES:
        for parts in (1, 3):
            found = rows(fewer, table, partitions_per_shard=parts)
            expected = [] if table == "events" else rows(sqlite_stories, table)
            assert sorted(repr({**row, "shard": 0}) for row in found) == sorted(
                repr({**row, "shard": 0}) for row in expected
            )
    fewer.close()


@pytest.mark.parametrize("table", TABLES)
def test_each_column_can_be_asked_for_alone(sqlite_stories: Broker, table: str) -> None:
    whole = rows(sqlite_stories, table)
    for name in TABLES[table].columns:
        alone = rows(sqlite_stories, table, columns=name)
        assert Counter(repr(row) for row in alone) == Counter(repr({name: row[name]}) for row in whole)


def test_an_empty_store_has_empty_tables(empty_store: Path) -> None:
    for table in TABLES:
        assert read(asking(str(empty_store), table)) == []

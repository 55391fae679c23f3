"""An inbox over tables comes to what the inbox of a store comes to: the same histories, run by run, row by row."""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import Any

import pytest

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.pipeline.inbox.tables.columns import TableRow
from conjoin.pipeline.inbox.tables.group_run import GroupRows, TableRun, run_group
from conjoin.pipeline.inbox.tables.inbox_run import read_both_policies
from conjoin.pipeline.inbox.tables.reading import ArrivalReader, group_of_key
from conjoin.pipeline.inbox.tables.waiting import AwaitingSubscription
from conjoin.pipeline.ingest.arrivals import Into
from conjoin.runtime.codec.json_text import json_bytes
from conjoin.runtime.inbox.receiving import Row
from conjoin.runtime.opening import temporary_broker
from conjoin.testing.clock import FakeClock
from tests.conftest import the_seed
from tests.runtime.inbox.bench import CHANNEL, TENANT, Bench, preset

S = 1_000_000
_HISTORIES = int(os.environ.get("HISTORIES", 60))
OWN, OFFERS = read_both_policies("zeebe", {})


class Tables:
    """What a chain of runs does, in this process: groups of rows instead of a shuffle."""

    def __init__(self, settings: InboxSettings) -> None:
        self.settings = settings
        self.rows: list[TableRow] = []
        self.waiting: dict[str, list[AwaitingSubscription]] = defaultdict(list)

    def wait(self, key: str, instance: int, at: int) -> None:
        row = AwaitingSubscription(f"s-{instance}", "order", "paid", str(instance), "paid", at, None, True, "")
        self.waiting[group_of_key(TENANT, key)].append(row)

    def run(self, now: int, arrivals: Iterable[tuple[int, bytes]] = ()) -> None:
        reader = ArrivalReader(Into(Channel(CHANNEL), self.settings, OWN), now)
        groups: dict[str, GroupRows] = defaultdict(GroupRows)
        for row in self.rows:
            groups[row.group_key].kept.append(row)
        for place, raw in arrivals:
            if (row := reader.read(CHANNEL, place, raw)) is not None:
                groups[row.group_key].arrived.append(row)
        for key, group in groups.items():
            group.waiting = self.waiting.get(key, [])
        run = TableRun(self.settings, Catalog(policies=OFFERS), now)
        self.rows = [row for group in groups.values() for row in run_group(group, run)]

    def told(self) -> dict[str, Any]:
        return {row.message_id: _told(row) for row in self.rows}


_COMPARED = (
    *("state", "attempts", "next_retry_at", "tried_at", "due_at", "expires_at", "grace_until", "ingested_at"),
    *("error_kind", "parked_for", "verdict", "reason", "decided_at", "taken_by"),
)


def _told(row: Any) -> dict[str, Any]:
    """Empty and null are the same."""
    found = {name: getattr(row, name) or None for name in _COMPARED}
    return found | {"grace_until": max(found["grace_until"] or 0, 0)}


def _differences(one: dict[str, Any], other: dict[str, Any]) -> Iterator[str]:
    for id_ in sorted({*one, *other}):
        mine, its = one.get(id_, {}), other.get(id_, {})
        yield from (
            f"{id_}.{name}: {mine.get(name)} != {its.get(name)}"
            for name in _COMPARED
            if mine.get(name) != its.get(name)
        )


def histories() -> Iterator[random.Random]:
    for number in range(_HISTORIES):
        yield random.Random(f"{the_seed()} inbox over tables {number}")


def arrival_of(chance: random.Random, number: int, began: int) -> bytes:
    """A delivery that comes again has the key that it had."""
    key = chance.choice(["a", "b", "c"])
    row: dict[str, Any] = {"id": f"{key}-{number}", "name": chance.choice(["paid", "paid", "sent"]), "key": key}
    row["timestamp"] = (began + chance.randrange(60) * S) // 1_000
    if chance.random() < 0.3:
        row["grace"] = chance.choice(["10s", "2m"])
    if chance.random() < 0.2:
        row["expiration"] = (began + chance.randrange(30, 900) * S) // 1_000
    if chance.random() < 0.1:
        row["payload"] = "{broken"
    return json_bytes(row)


def settings_of(chance: random.Random) -> InboxSettings:
    changes: dict[str, Any] = {"mode": chance.choice(["all", "fail_first"]), "max_attempts": chance.choice([2, 4, 100])}
    changes |= {"backoff_base": 2.0, "batch_size": chance.choice([-1, -1, 1, 2])}
    changes["order"] = chance.choice(["event_time", "message_id"])
    return preset(chance.choice(["conjoin", "correlate-docs", "correlate-code"]), **changes)


def test_chain_of_runs_over_tables_leaves_what_the_runs_of_a_store_leave() -> None:
    for chance in histories():
        settings = settings_of(chance)
        clock = FakeClock()
        with closing(temporary_broker(1, clock)) as broker:
            bench, tables = Bench(broker, clock, settings), Tables(settings)
            began, place = broker.now, 0
            for _ in range(12):
                if chance.random() < 0.4:
                    key = chance.choice(["a", "b", "c"])
                    [instance] = bench.wait(key)
                    tables.wait(key, instance, broker.now)
                arrivals = []
                for _ in range(chance.choice([0, 1, 1, 2, 4])):
                    place += 1
                    arrivals.append((place, arrival_of(chance, chance.randint(max(1, place - 3), place), began)))
                bench.inbox.receive_rows(CHANNEL, [Row(CHANNEL, place, raw) for place, raw in arrivals])
                now = broker.now
                bench.inbox.run()
                tables.run(now, arrivals)
                found = {row.message_id: _told(row) for row in bench.rows()}
                assert [*_differences(tables.told(), found)] == [], settings
                clock.advance_ms(chance.choice([6_000, 6_000, 60_000, 240_000]))


def test_messages_of_other_names_with_one_hint_are_one_batch() -> None:
    """The document: a batch is all messages with the same hint. An error of one name holds back the other."""
    tables = Tables(preset("correlate-docs"))
    now = 1_900_000_000 * S
    placed = json_bytes({"id": "m-1", "name": "Order placed", "key": "o-1", "timestamp": 1})
    paid = json_bytes({"id": "m-2", "name": "paid", "key": "o-1", "timestamp": 2})
    tables.run(now, [(1, placed)])
    tables.wait("o-1", 7, now)
    tables.run(now + 6 * S, [(2, paid)])
    assert {id_: row["state"] for id_, row in tables.told().items()} == {"m-1": "waiting", "m-2": "waiting"}
    assert len({row.group_key for row in tables.rows}) == 1
    own = Tables(preset("conjoin", mode="all"))
    own.wait("o-1", 7, now)
    own.run(now, [(1, placed), (2, paid)])
    assert own.told()["m-2"]["taken_by"] == "7"


def test_whoever_was_served_is_not_served_again_as_long_as_the_inbox_knows_of_it() -> None:
    tables = Tables(preset(retention=3_600_000))
    now = 1_900_000_000 * S
    tables.wait("o-1", 7, now)
    tables.run(now, [(1, json_bytes({"id": "m-1", "name": "paid", "key": "o-1"}))])
    assert tables.rows[0].subscription_ids == ["s-7"]
    tables.run(now + 6 * S, [(2, json_bytes({"id": "m-2", "name": "paid", "key": "o-1"}))])
    assert tables.told()["m-2"]["error_kind"] == "target_error"
    tables.run(now + 3_600 * S)
    assert [row.message_id for row in tables.rows] == ["m-2"]


def test_what_still_arrives_is_not_forgotten_and_taken_again() -> None:
    tables = Tables(preset(retention=3_600_000))
    now = 1_900_000_000 * S
    tables.wait("o-1", 7, now)
    arrivals = [(1, json_bytes({"id": "m-1", "name": "paid", "key": "o-1"})), (2, b"{broken")]
    tables.run(now, arrivals)
    for instance in (8, 9):
        now += 3_600 * S
        tables.wait("o-1", instance, now)
        tables.run(now, arrivals)
    assert [(row.outcome, row.subscription_ids) for row in tables.rows] == [(None, ["s-7"]), (None, None)]
    tables.run(now, arrivals[1:])
    assert [row.state for row in tables.rows] == ["dead_letter"]
    tables.run(now)
    assert tables.rows == []


@pytest.mark.parametrize("state", ["closed", "not yet open"])
def test_who_waits_at_another_time_is_not_served(state: str) -> None:
    tables = Tables(preset())
    now = 1_900_000_000 * S
    times = (now - 9, now) if state == "closed" else (now + 1, None)
    row = AwaitingSubscription("s", "order", "paid", "7", "paid", *times, True, "")
    tables.waiting[group_of_key(TENANT, "o-1")].append(row)
    tables.run(now, [(1, json_bytes({"name": "paid", "key": "o-1"}))])
    assert [row.outcome for row in tables.rows] == ["target_error"]


def test_row_that_cannot_be_read_is_a_dead_letter_once_and_stops_nobody() -> None:
    tables = Tables(preset())
    now = 1_900_000_000 * S
    tables.wait("o-1", 7, now)
    bad = [(1, b"{broken"), (2, json_bytes({"key": "o-1"})), (3, json_bytes({"name": "paid", "group": "g"}))]
    arrivals = [*bad, (4, json_bytes({"name": "paid", "key": "o-1"}))]
    tables.run(now, arrivals)
    tables.run(now + 6 * S, arrivals)
    found = sorted((row.position, row.state, row.error_kind) for row in tables.rows)
    assert found == [
        (1, "dead_letter", "unreadable"),
        (2, "dead_letter", "missing_name"),
        (3, "dead_letter", "bad_type"),
        (4, "done", None),
    ]
    assert [row.outcome for row in tables.rows] == [None] * 4

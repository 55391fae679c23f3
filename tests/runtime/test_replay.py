"""The log replays to the rows of the store; a row, an event or an order that is not as it should be is found."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.orders import read_order, written_order
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import Checked, verify_store
from conjoin.runtime.run.due import Sweep
from conjoin.runtime.upkeep.backup import backup_store
from conjoin.store import tables as t
from conjoin.store.sqlite.store import SqliteStore
from conjoin.testing.clock import FakeClock
from tests.gateway.models import started_by_message, with_message
from tests.runtime.test_stored_stories import StoredStory

STORIES = int(os.environ.get("STORIES", "6"))
STEPS = 40
HAS_IT_ALL = 115
"""A story that has rows in every table; tried first, and when stories have become others the rest is searched."""


def told(seed: str, shards: int) -> StoredStory:
    story = StoredStory(seed, shards)
    for _ in story.steps(STEPS):
        pass
    return story


def differences(checked: list[Checked]) -> list[str]:
    return [f"shard {it.shard}: {it.difference}" for it in checked if it.difference is not None]


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("number", range(STORIES))
def test_log_of_a_random_story_replays_to_the_rows_of_the_store(seed: int, number: int, shards: int) -> None:
    story = told(f"{seed}/{number}", shards)
    checked = verify_store(story.engine.store)
    assert differences(checked) == [], f"seed {seed}/{number}, {shards} shards: {story.told}"
    assert sum(it.rows for it in checked) == _rows_of(story.engine.store)
    assert sum(it.versions for it in checked) > STEPS / 2
    story.engine.close()


def _rows_of(store: Any) -> int:
    tables = (t.SUBSCRIPTION if table is t.APART else table for table in t.STATE)
    return sum(len(list(store.rows(table, {}, None, 10_000))) for table in tables)


@pytest.mark.parametrize("shards", [1, 3])
def test_replay_from_a_backup_carries_out_the_tail_only(seed: int, shards: int, tmp_path: Path) -> None:
    story = told(f"{seed}/tail", shards)
    store = story.engine.store
    backup_store(store, tmp_path / "base")
    before = sum(it.versions for it in verify_store(store))
    for _ in story.steps(STEPS):
        pass
    with closing(SqliteStore(tmp_path / "base")) as base:
        checked = verify_store(store, base)
    assert differences(checked) == []
    assert sum(it.versions for it in checked) == sum(it.versions for it in verify_store(store)) - before
    story.engine.close()


@pytest.fixture(scope="module")
def busy_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A backup of a store of three shards that has rows in every table of state."""
    folder = tmp_path_factory.mktemp("replay") / "busy"
    for number in (HAS_IT_ALL, *range(200)):
        story = told(f"busy-{number}", 3)
        counts = [len(list(story.engine.store.rows(table, {}, None, 10))) for table in t.STATE]
        if all(counts):
            backup_store(story.engine.store, folder)
            story.engine.close()
            return folder
        story.engine.close()
    raise AssertionError("no story has it all")


@pytest.fixture
def spoiled(busy_folder: Path, tmp_path: Path) -> Callable[[str], list[str]]:
    """Whatever a statement does to the shards of that store, and the differences that are found then."""
    for file in busy_folder.glob("*.db"):
        (tmp_path / file.name).write_bytes(file.read_bytes())

    def spoil(statement: str) -> list[str]:
        changed = 0
        for file in sorted(tmp_path.glob("shard-*.db")):
            with closing(sqlite3.connect(file)) as connection, connection:
                changed += connection.execute(statement).rowcount
        assert changed, "nothing was spoiled"
        with closing(SqliteStore(tmp_path)) as store:
            return differences(verify_store(store))

    return spoil


@pytest.mark.parametrize("table", t.STATE, ids=[table.name for table in t.STATE])
def test_row_that_was_not_written_is_found(spoiled: Callable[[str], list[str]], table: t.Table) -> None:
    one = f"({', '.join(table.key)}) in (select {', '.join(table.key)} from {table.name} limit 1)"
    found = spoiled(f"delete from {table.name} where {one}")
    assert found
    name = "subscription" if table is t.APART else table.name
    assert all(f"{name} " in line and "is not in the store, and the log makes it" in line for line in found)


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("update message set verdict = 'lost'", "verdict is 'lost' in the store, and"),
        ("update message set record = '[0]'", "record is '[0]' in the store, and"),
        ("update message set live = 1 - live", "live is"),
        ("update subscription_apart set opened_at = opened_at + 1", "opened_at is"),
        ("update instance set wait_opened_at = wait_opened_at + 1 where wait_key > 0", "opened_at is"),
        ("update instance set wait_on = null where wait_key > 0", "is not in the store, and the log makes it"),
        ("update instance set closed_waits = '[]', wait_on = null where closed_waits <> '[]'", "is not in the store"),
        ("update start_lock set instance_key = 7", "instance_key is 7 in the store, and"),
        ("update instance set body = replace(body, '\"v\":', '\"w\":')", "body is"),
        ("update job set retries = 99", "retries is 99 in the store, and"),
        ("update timer set due_at = 1", "due_at is 1 in the store, and"),
        ("insert into scope values (1, 2)", "scope 1 is in the store, and nothing in the log makes it"),
        ("insert into incident values (1, 2, 3, 'e', 0, 'x', 'y')", "incident 1 is in the store"),
        ("update shard set time = time + 1", "when the log is replayed"),
        ("update shard set next_key = 1", "when the log is replayed"),
        ("update received set seq = seq - 1", "more often carried out and not sent"),
        ("insert into outbox values (100000, 0, 1, '[]')", "outbox 100000 is in the store"),
        ("delete from log where version = 2", "the log has a hole: version 3 follows 1"),
        ("delete from log where version = 1", "the log begins at version 2, and its head was removed"),
        ("delete from log where version = (select max(version) from log)", "the log ends at version"),
        ("update log set at = 0 where version = 3", "time goes back"),
    ],
)
def test_what_differs_is_told(spoiled: Callable[[str], list[str]], statement: str, words: str) -> None:
    found = spoiled(statement)
    assert found
    assert any(words in line for line in found), found


@pytest.mark.parametrize(
    ("written", "instead", "words"),
    [
        (b"[0,2251799813685249", b"[0,7", "event 1 is ['MessagePublished', 7,"),
        (b"[4,2251799813685249", b"[5,2251799813685249", "event 2 is ['MessageExpired',"),
        (b"[0,2251799813685249", b"[8,2251799813685249", "version 1: the block cannot be read"),
        (b"[0,2251799813685249", b"[99,2251799813685249", "version 1: the block cannot be read"),
        (b"2251799813685249,[", b"2251799813685250,[", "event 1 is ['MessagePublished', 2251799813685249,"),
    ],
)
def test_log_that_says_something_else_is_found(written: bytes, instead: bytes, words: str) -> None:
    broker = temporary_broker(1, FakeClock())
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    (row,) = broker.store.shard(0).log()
    assert written in row.block
    with closing(sqlite3.connect(broker.store.shard(0).file)) as connection, connection:
        connection.execute("update log set block = ?", (row.block.replace(written, instead),))
    (found,) = differences(verify_store(broker.store))
    assert words in found
    broker.close()


def test_backup_that_does_not_reach_the_log_is_told(tmp_path: Path) -> None:
    broker = temporary_broker(1, FakeClock())
    broker.publish(NewMessage("paid", "o-1", {}, 60_000))
    backup_store(broker.store, tmp_path / "early")
    for _ in range(2):
        broker.publish(NewMessage("paid", "o-2", {}, 60_000))
    with closing(sqlite3.connect(broker.store.shard(0).file)) as connection, connection:
        connection.execute("delete from log where version < 3")
    with closing(SqliteStore(tmp_path / "early")) as base:
        (found,) = differences(verify_store(broker.store, base))
    assert "the log begins at version 3, and the backup ends at version 1" in found
    broker.close()


def test_bounded_sweeps_of_one_hot_key_replay() -> None:
    """A sweep of a key with many messages ends some of them at a time; the log says which."""
    clock = FakeClock()
    broker = temporary_broker(1, clock)
    for number in range(230):
        broker.publish(NewMessage("paid", "hot", {}, 60_000 + number % 7))
    clock.advance_ms(60_003)
    while broker.ask(0, Sweep("messages", 50)).swept:
        pass
    broker.publish(NewMessage("paid", "hot", {}, 60_000))
    clock.advance_ms(60_000)
    broker.tick()
    assert differences(verify_store(broker.store)) == []
    broker.close()


def test_message_for_subscriptions_only_replays_without_a_start() -> None:
    with closing(temporary_broker(1, clock=FakeClock())) as broker:
        for content in (with_message("waits"), started_by_message("started", "waits")):
            assert not isinstance(broker.deploy([("model.bpmn", content)]), Refusal)
        broker.create_instance("waits", {"orderId": "o-1"})
        broker.correlate(NewMessage("waits", "o-1", subscriptions_only=True))
        broker.correlate(NewMessage("waits", "o-1", subscriptions_only=True))
        assert differences(verify_store(broker.store)) == []


def test_message_of_a_log_from_before_it_could_be_for_subscriptions_only_is_read() -> None:
    before = written_order(NewMessage("paid", "o-1", {"amount": 5}, sync=True))[:-1]
    assert read_order(before) == NewMessage("paid", "o-1", {"amount": 5}, sync=True)

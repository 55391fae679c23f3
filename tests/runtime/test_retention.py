"""What is over goes when its time has come, in small commits, and nothing else does; the log still replays."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread

import pytest

from conjoin.errors import InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.log import read_block
from conjoin.runtime.upkeep.backup import backup_store
from conjoin.runtime.upkeep.removal import AT_ONCE, compact_log
from conjoin.runtime.upkeep.retention import KeepFor, Removed, Retention
from conjoin.store import tables as t
from conjoin.store.port import Facts
from conjoin.store.sqlite.store import SqliteStore
from conjoin.testing.clock import FakeClock
from tests.cli.command import ORDER

DAY_MS = 86_400_000
WEEK = KeepFor(messages_ms=7 * DAY_MS, instances_ms=7 * DAY_MS, log_ms=None)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=[1, 3])
def broker(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Broker]:
    broker = temporary_broker(request.param, clock)
    broker.deploy([("order.bpmn", ORDER)])
    yield broker
    broker.close()


def swept(broker: Broker, keep_for: KeepFor = WEEK) -> Removed:
    retention = Retention(broker.store, keep_for)
    removed = retention.sweep(broker.now)
    retention.close()
    return removed


def differences(broker: Broker) -> list[str | None]:
    return [it.difference for it in verify_store(broker.store) if it.difference is not None]


def keys(broker: Broker, table: t.Table) -> list[int]:
    return [row.key for row in broker.store.rows(table, {}, None, 10_000)]


def test_message_is_kept_for_its_time_after_it_is_over(broker: Broker, clock: FakeClock) -> None:
    broker.publish(NewMessage("paid", "lost", {}, 0))
    buffered = broker.publish(NewMessage("paid", "patient", {}, 3 * DAY_MS))
    clock.advance_ms(7 * DAY_MS)
    broker.tick()
    assert swept(broker) == Removed()
    clock.advance_ms(1)
    assert swept(broker) == Removed(messages=1)
    assert keys(broker, t.MESSAGE) == [buffered.key]
    clock.advance_ms(3 * DAY_MS)
    assert swept(broker) == Removed(messages=1)
    assert differences(broker) == []


@pytest.mark.parametrize("ticks", [False, True])
def test_id_that_is_used_again_leaves_the_first_message_over(broker: Broker, clock: FakeClock, ticks: bool) -> None:
    broker.catalog.set_policy("paid", {"dedup": "1m"}, broker.now)
    for _ in range(2):
        broker.create_instance("order", {"orderId": "o-1"})
        assert not isinstance(broker.correlate(NewMessage("paid", "o-1", {}, message_id="m")), Refusal)
        clock.advance_ms(60_000)
        if ticks:
            broker.tick()
    live = [row.live for row in broker.store.rows(t.MESSAGE, {}, None, 10)]
    assert live == ([0, 0] if ticks else [0, 1])
    assert differences(broker) == []


def test_message_that_is_still_live_is_never_removed(broker: Broker, clock: FakeClock) -> None:
    broker.publish(NewMessage("paid", "o-1", {}, 100 * DAY_MS))
    clock.advance_ms(50 * DAY_MS)
    broker.tick()
    assert swept(broker) == Removed()
    broker.create_instance("order", {"orderId": "o-1"})
    assert len(list(broker.store.rows(t.JOB, {}, None, 10))) == 1


def test_message_goes_when_its_id_is_not_remembered_any_more(broker: Broker, clock: FakeClock) -> None:
    broker.catalog.set_policy("paid", {"dedup": "10d"}, broker.now)
    broker.publish(NewMessage("paid", "o-1", {}, 0, "id-1"))
    clock.advance_ms(9 * DAY_MS)
    broker.tick()
    assert swept(broker) == Removed()
    assert isinstance(broker.publish(NewMessage("paid", "o-1", {}, 0, "id-1")), Refusal)
    clock.advance_ms(DAY_MS)
    broker.tick()
    assert swept(broker) == Removed(messages=1)
    assert differences(broker) == []


def test_ended_instance_and_closed_subscription_go_and_open_ones_stay(broker: Broker, clock: FakeClock) -> None:
    ended = broker.create_instance("order", {"orderId": "o-1"})
    broker.cancel_instance(ended.key)
    waiting = broker.create_instance("order", {"orderId": "o-2"})
    clock.advance_ms(8 * DAY_MS)
    young = broker.create_instance("order", {"orderId": "o-3"})
    broker.cancel_instance(young.key)
    removed = swept(broker)
    # A closed one goes with its instance, if it stands in its row.
    assert (removed.messages, removed.instances) == (0, 1)
    assert sorted(keys(broker, t.INSTANCE)) == sorted([waiting.key, young.key])
    assert len(keys(broker, t.SUBSCRIPTION)) == 2
    assert differences(broker) == []
    broker.publish(NewMessage("paid", "o-2", {}, 0))
    assert len(keys(broker, t.JOB)) == 1


def test_instance_that_began_long_ago_and_ended_lately_stays(broker: Broker, clock: FakeClock) -> None:
    old = broker.create_instance("order", {"orderId": "o-1"})
    clock.advance_ms(30 * DAY_MS)
    broker.cancel_instance(old.key)
    assert swept(broker) == Removed()
    clock.advance_ms(8 * DAY_MS)
    assert swept(broker).instances == 1


def test_what_is_kept_for_ever_is_kept(broker: Broker, clock: FakeClock) -> None:
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    clock.advance_ms(10_000 * DAY_MS)
    assert swept(broker, KeepFor(None, None, None)) == Removed()


def test_what_was_removed_stays_accounted_for_when_more_is_kept_later(broker: Broker, clock: FakeClock) -> None:
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    clock.advance_ms(30 * DAY_MS)
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    clock.advance_ms(2 * DAY_MS)
    assert swept(broker, KeepFor(DAY_MS, None, None)) == Removed(messages=2)
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    clock.advance_ms(30 * DAY_MS)
    assert swept(broker, KeepFor(29 * DAY_MS, None, None)) == Removed(messages=1)
    assert differences(broker) == []
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    clock.advance_ms(DAY_MS)
    assert swept(broker, KeepFor(60 * DAY_MS, None, None)) == Removed()
    assert differences(broker) == []


def test_each_commit_removes_a_bounded_number(clock: FakeClock) -> None:
    broker = temporary_broker(1, clock)
    messages = [NewMessage("paid", f"o-{number}", {}, 0) for number in range(2 * AT_ONCE + 1)]
    broker.post.run(0, Batch(messages))
    clock.advance_ms(8 * DAY_MS)
    assert swept(broker) == Removed(messages=len(messages))
    blocks = list(broker.store.shard(0).log())
    # Those of a page of 1,000 go in two commits, the last one in a third.
    assert [len(list(read_block(row.block))) for row in blocks] == [len(messages), 0, 0, 0]
    assert differences(broker) == []
    broker.close()


def test_publishes_beside_a_sweep_are_neither_lost_nor_done_twice(tmp_path: Path, clock: FakeClock) -> None:
    broker = Broker(SqliteStore.create(tmp_path / "store", Facts(1, "zeebe", 1, False), synced=False), clock)
    for first in range(0, 4_000, 500):
        broker.post.run(0, Batch([NewMessage("paid", f"o-{first + number}", {}, 0) for number in range(500)]))
    clock.advance_ms(8 * DAY_MS)
    begun, published = Event(), []
    other = Broker(SqliteStore(tmp_path / "store", synced=False), clock)

    def publish() -> None:
        begun.set()
        for number in range(200):
            published.append(other.publish(NewMessage("paid", f"new-{number}", {}, DAY_MS)).key)

    thread = Thread(target=publish)
    thread.start()
    begun.wait()
    assert swept(broker).messages == 4_000
    thread.join()
    assert keys(broker, t.MESSAGE) == published
    assert len(set(published)) == 200
    assert differences(broker) == []
    other.close()
    broker.close()


def test_row_that_is_missing_for_another_reason_is_still_found(clock: FakeClock) -> None:
    broker = temporary_broker(1, clock)
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    clock.advance_ms(8 * DAY_MS)
    young = broker.publish(NewMessage("paid", "o-2", {}, 0))
    assert swept(broker) == Removed(messages=1)
    assert differences(broker) == []
    with closing(sqlite3.connect(broker.store.shard(0).file)) as connection, connection:
        connection.execute("delete from message")
    assert differences(broker) == [f"message {young.key} is not in the store, and the log makes it"]
    broker.close()


def test_old_blocks_of_the_log_go_and_a_backup_takes_their_place(
    broker: Broker, clock: FakeClock, tmp_path: Path
) -> None:
    broker.create_instance("order", {"orderId": "o-1"})
    clock.advance_ms(2 * DAY_MS)
    broker.create_instance("order", {"orderId": "o-2"})
    backup_store(broker.store, tmp_path / "base")
    clock.advance_ms(DAY_MS)
    broker.publish(NewMessage("paid", "o-1", {}, 0))
    assert swept(broker, KeepFor(None, None, DAY_MS)).log_blocks >= 1
    assert any("replay it from a backup" in str(text) for text in differences(broker))
    with closing(SqliteStore(tmp_path / "base")) as base:
        assert [it.difference for it in verify_store(broker.store, base) if it.difference] == []


def test_compacting_removes_the_log_up_to_a_backup(broker: Broker, tmp_path: Path) -> None:
    for number in range(7):
        broker.create_instance("order", {"orderId": f"o-{number}"})
    backup_store(broker.store, tmp_path / "base")
    before = _blocks(broker)
    for number in range(7):
        broker.publish(NewMessage("paid", f"o-{number}", {}, 0))
    with closing(SqliteStore(tmp_path / "base")) as base:
        removed = compact_log(broker.store, base)
        assert removed == before
        assert compact_log(broker.store, base) == 0
        checked = verify_store(broker.store, base)
    assert [it.difference for it in checked if it.difference] == []
    assert sum(it.versions for it in checked) == _blocks(broker)


def _blocks(broker: Broker) -> int:
    return sum(len(list(broker.store.shard(index).log())) for index in range(broker.shard_count))


def test_backup_of_another_store_is_refused(broker: Broker, clock: FakeClock, tmp_path: Path) -> None:
    other = temporary_broker(broker.shard_count, clock)
    for number in range(9):
        other.publish(NewMessage("shipped", f"o-{number}", {}, 0))
        broker.publish(NewMessage("paid", f"o-{number}", {}, 0))
    backup_store(other.store, tmp_path / "other")
    before = _blocks(broker)
    with closing(SqliteStore(tmp_path / "other")) as base, pytest.raises(InputError, match="none of this store"):
        compact_log(broker.store, base)
    assert _blocks(broker) == before
    other.close()

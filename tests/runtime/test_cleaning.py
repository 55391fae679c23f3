"""Retention goes on by itself: in small commits, by one process at a time, and again when its time has come."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from conjoin.errors import StoreFailed
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import create_broker, open_broker, temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.upkeep.removal import HouseKeeper
from conjoin.runtime.upkeep.retention import EVERY_US, FEW, KEEP_EVERYTHING, LEASE, Cleaning, KeepFor, Removed
from conjoin.runtime.upkeep.sweeper import Sweeper
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.cli.command import ORDER

DAY_MS = 86_400_000
EVERY_MS = EVERY_US // 1_000
WEEK = KeepFor(7 * DAY_MS, 7 * DAY_MS, None)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["sqlite-1", "sqlite-3", "postgres-2"])
def broker(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Broker]:
    database, _, shards = request.param.partition("-")
    if database == "sqlite":
        made = temporary_broker(int(shards), clock)
    else:
        made = open_broker(request.getfixturevalue("postgres_server").emptied_store(int(shards)), clock)
    with closing(made) as broker:
        broker.deploy([("order.bpmn", ORDER)])
        yield broker


@pytest.fixture
def single(clock: FakeClock) -> Iterator[Broker]:
    with closing(temporary_broker(1, clock)) as broker:
        yield broker


def lost(broker: Broker, count: int) -> None:
    """So many messages that nobody takes, in one commit."""
    broker.post.run(0, Batch([NewMessage("paid", f"o-{number}", {}, 0) for number in range(count)]))


def messages(broker: Broker) -> int:
    return len(list(broker.store.rows(t.MESSAGE, {}, None, 10_000)))


def cleaning_of(broker: Broker, keep_for: KeepFor = WEEK) -> Cleaning:
    return Cleaning(broker.store, lambda: broker.now, keep_for)


def commits(cleaning: Cleaning) -> int:
    """Until there is nothing to do for now."""
    count = 0
    while cleaning.go_on():
        count += 1
    return count


def test_everything_that_is_over_goes_and_nothing_else(broker: Broker, clock: FakeClock) -> None:
    broker.publish(NewMessage("paid", "lost", {}, 0))
    broker.cancel_instance(broker.create_instance("order", {"orderId": "o-1"}).key)
    broker.create_instance("order", {"orderId": "o-2"})
    clock.advance_ms(8 * DAY_MS)
    broker.publish(NewMessage("paid", "young", {}, 0))
    with closing(cleaning_of(broker)) as cleaning:
        commits(cleaning)
        # A closed subscription goes with its instance, if it stands in its row.
        assert cleaning.removed._replace(subscriptions=0) == Removed(messages=1, instances=1)
    assert messages(broker) == 1
    assert len(list(broker.store.rows(t.SUBSCRIPTION, {}, None, 9))) == 1
    assert [it.difference for it in verify_store(broker.store) if it.difference] == []


def test_each_commit_removes_few_rows(single: Broker, clock: FakeClock) -> None:
    lost(single, 2 * FEW + 1)
    clock.advance_ms(8 * DAY_MS)
    with closing(cleaning_of(single)) as cleaning:
        left = [messages(single)]
        while cleaning.go_on():
            left.append(messages(single))
    assert left == [2 * FEW + 1, FEW + 1, 1, 0]


def test_old_blocks_of_the_log_go_few_at_a_time(single: Broker, clock: FakeClock) -> None:
    for _ in range(FEW + 20):
        lost(single, 1)
    clock.advance_ms(2 * DAY_MS)
    lost(single, 1)
    with closing(cleaning_of(single, KeepFor(None, None, DAY_MS))) as cleaning:
        assert commits(cleaning) == 2
        assert cleaning.removed == Removed(log_blocks=FEW + 20)


def test_log_is_kept_unless_somebody_says_how_long(single: Broker, clock: FakeClock) -> None:
    lost(single, 1)
    clock.advance_ms(1_000 * DAY_MS)
    with closing(cleaning_of(single)) as cleaning:
        commits(cleaning)
    assert len(list(single.store.shard(0).log())) == 2


def test_kept_for_no_time_is_gone_when_it_is_over(single: Broker, clock: FakeClock) -> None:
    lost(single, 3)
    single.publish(NewMessage("paid", "patient", {}, DAY_MS))
    clock.advance_ms(1)
    with closing(cleaning_of(single, KeepFor(0, 0, None))) as cleaning:
        commits(cleaning)
    assert messages(single) == 1


def test_next_round_begins_when_its_time_has_come(single: Broker, clock: FakeClock) -> None:
    with closing(cleaning_of(single)) as cleaning:
        lost(single, 1)
        clock.advance_ms(8 * DAY_MS)
        assert commits(cleaning) == 1
        lost(single, 1)
        clock.advance_ms(EVERY_MS - 1)
        assert commits(cleaning) == 0
        clock.advance_ms(8 * DAY_MS)
        assert commits(cleaning) == 1


def test_one_process_cleans_and_the_others_need_not(tmp_path: Path, clock: FakeClock) -> None:
    with (
        closing(create_broker(tmp_path / "store", 1, clock)) as one,
        closing(open_broker(tmp_path / "store", clock)) as two,
        closing(cleaning_of(one)) as first,
        closing(cleaning_of(two)) as second,
    ):
        lost(one, 3 * FEW)
        clock.advance_ms(8 * DAY_MS)
        assert first.go_on()
        assert not second.go_on()
        assert commits(first) == 2
        lost(one, 1)
        clock.advance_ms(EVERY_MS - 1)
        assert commits(second) == 0
        clock.advance_ms(8 * DAY_MS)
        assert commits(second) == 1
        assert not first.go_on()


def test_what_a_process_that_died_left_is_taken_up_by_another(single: Broker, clock: FakeClock) -> None:
    lost(single, 3 * FEW)
    clock.advance_ms(8 * DAY_MS)
    with closing(cleaning_of(single)) as dies, closing(cleaning_of(single)) as other:
        assert dies.go_on()
        assert commits(other) == 0
        clock.advance_ms(EVERY_MS)
        assert commits(other) == 2
        assert not dies.go_on()
    assert messages(single) == 0


def test_long_round_stays_with_the_process_that_began_it(single: Broker, clock: FakeClock) -> None:
    lost(single, 5 * FEW)
    clock.advance_ms(8 * DAY_MS)
    with closing(cleaning_of(single)) as slow, closing(cleaning_of(single)) as other:
        for _ in range(5):
            assert slow.go_on()
            clock.advance_ms(EVERY_MS * 3 // 4)
            assert not other.go_on()
    assert messages(single) == 0


def test_nobody_asks_for_the_lease_where_everything_is_kept(single: Broker, clock: FakeClock) -> None:
    lost(single, 1)
    clock.advance_ms(1_000 * DAY_MS)
    with closing(cleaning_of(single, KEEP_EVERYTHING)) as cleaning:
        assert not cleaning.go_on()
    assert single.store.catalog.lease(LEASE, "somebody", single.now, single.now + 1)


def test_round_that_failed_is_begun_again_after_a_while(
    single: Broker, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost(single, 3 * FEW)
    clock.advance_ms(8 * DAY_MS)

    def fails(*asked: Any, **more: Any) -> bool:
        raise StoreFailed("the disk is full")

    with closing(cleaning_of(single)) as cleaning:
        assert cleaning.go_on()
        with monkeypatch.context() as full:
            full.setattr(HouseKeeper, "_changes", fails)
            with pytest.raises(StoreFailed):
                cleaning.go_on()
        assert not cleaning.go_on()
        clock.advance_ms(60_000)
        assert commits(cleaning) == 2


def test_sweeper_cleans_between_its_rounds_while_others_publish(broker: Broker, clock: FakeClock) -> None:
    for number in range(5 * FEW):
        broker.publish(NewMessage("lost", f"o-{number}", {}, 0))
    clock.advance_ms(8 * DAY_MS)
    waits = broker.create_instance("order", {"orderId": "o-1"}).key
    published = []
    with shard_threads(broker) as runner:
        sweeper = Sweeper(broker, runner, every_s=0.001, keep_for=WEEK)
        sweeper.start()
        while sweeper.cleaning.removed.messages < 5 * FEW and not Event().wait(0.001):
            published.append(broker.publish(NewMessage("other", "o-9", {}, DAY_MS)).key)
            assert len(published) < 10_000, "nothing is removed"
        sweeper.stop()
    assert sweeper.failed is None
    assert [row.key for row in broker.store.rows(t.MESSAGE, {}, None, 10_000)] == published
    assert [row.key for row in broker.store.rows(t.INSTANCE, {}, None, 9)] == [waits]

"""Unique business ids on a store: what only a store has, commits of many, other processes, a restart, other shards."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import InputError, StoreExists
from conjoin.kernel.process import commands as c
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain_named
from conjoin.runtime.opening import create_broker, open_broker, temporary_broker
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.upkeep.backup import restore_store
from conjoin.runtime.upkeep.reshard import reshard_store
from conjoin.store import tables as t
from conjoin.store.sqlite.shard import SqliteSnapshot
from conjoin.testing.clock import FakeClock
from tests.testing.order import ORDER

HOUR_MS = 3_600_000


def opened(key: str, business_id: str) -> NewMessage:
    return NewMessage("opened", key, {}, HOUR_MS, business_id=business_id)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "store"


@pytest.fixture
def broker(folder: Path, clock: FakeClock) -> Iterator[Broker]:
    broker = create_broker(folder, 1, clock, unique_business_ids=True)
    broker.deploy([("order.bpmn", ORDER)])
    yield broker
    broker.close()


def running(broker: Broker) -> list[str]:
    return [row.business_id for row in broker.store.rows(t.INSTANCE, {"state": "active"}, None, 1_000)]


def test_messages_of_one_commit_hold_ids_against_each_other(broker: Broker) -> None:
    broker.post.run(0, Batch([opened(f"t-{number}", "b" if number % 2 else "c") for number in range(6)]))
    assert sorted(running(broker)) == ["b", "c"]


def test_holder_that_ends_and_the_one_after_it_may_be_in_one_commit(broker: Broker) -> None:
    broker.publish(opened("t-1", "b"))
    (job,) = broker.activate_jobs("work", 1)
    finish = c.CompleteJob(job.key, {}, broker.now)
    broker.post.run(0, Batch([opened("t-2", "b"), opened("t-3", "b"), finish, opened("t-4", "b")]))
    found = [(row.lock_key, row.state) for row in broker.store.rows(t.INSTANCE, {}, None, 9)]
    assert found == [("t-1", "completed"), ("t-2", "active")]


def test_other_processes_see_who_holds_an_id(broker: Broker, folder: Path, clock: FakeClock) -> None:
    with closing(open_broker(folder, clock)) as other:
        first = broker.create_instance("order", {"orderId": "o-1"}, business_id="b")
        again = other.create_instance("order", {"orderId": "o-2"}, business_id="b")
        assert isinstance(first, CreatedInstance)
        assert again == Refusal("ALREADY_EXISTS", f"instance {first.key} of order has the business id 'b'")
        other.cancel_instance(first.key)
        assert isinstance(broker.create_instance("order", {"orderId": "o-2"}, business_id="b"), CreatedInstance)


def test_ids_are_held_after_a_restart(broker: Broker, folder: Path, clock: FakeClock) -> None:
    broker.publish(opened("t-1", "b"))
    broker.publish(opened("t-2", "b"))
    broker.close()
    with closing(open_broker(folder, clock)) as again:
        again.publish(opened("t-3", "b"))
        (holder,) = again.store.rows(t.INSTANCE, {"state": "active"}, None, 9)
        again.cancel_instance(holder.key)
        (next_one,) = again.store.rows(t.INSTANCE, {"state": "active"}, None, 9)
        assert (holder.lock_key, next_one.lock_key) == ("t-1", "t-2")


def test_dry_run_knows_that_an_id_is_held(broker: Broker) -> None:
    broker.publish(opened("t-1", "b"))
    told = {it: explain_named(broker, opened("t-9", it)).dry_run.verdict for it in ("b", "c", "")}
    assert told == {"b": "buffered", "c": "correlated", "": "correlated"}


def test_ids_of_a_batch_are_looked_up_at_once(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    look_up = SqliteSnapshot.id_holders

    def noted(self: SqliteSnapshot, tenant_id: str, business_ids: Sequence[str]) -> Any:
        asked.append(business_ids)
        return look_up(self, tenant_id, business_ids)

    monkeypatch.setattr(SqliteSnapshot, "id_holders", noted)
    broker.post.run(0, Batch([opened(f"t-{number}", f"b-{number}") for number in range(300)]))
    assert [len(ids) for ids in asked] == [300]
    assert len(running(broker)) == 300


def test_store_without_the_rule_looks_nothing_up(clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*asked: Any) -> Any:
        raise AssertionError("nobody need know")

    monkeypatch.setattr(SqliteSnapshot, "id_holders", fails)
    monkeypatch.setattr(SqliteSnapshot, "messages_with_business_id", fails)
    with closing(temporary_broker(1, clock)) as broker:
        broker.deploy([("order.bpmn", ORDER)])
        broker.publish(opened("t-1", "b"))
        broker.publish(opened("t-2", "b"))
        assert running(broker) == ["b", "b"]
        for job in broker.activate_jobs("work", 2):
            broker.complete_job(job.key, {})
        assert running(broker) == []


@pytest.mark.parametrize("shards", [2, 3])
def test_store_with_several_shards_cannot_have_unique_ids(shards: int, folder: Path) -> None:
    with pytest.raises(InputError, match="which instance holds an id is known within one shard"):
        create_broker(folder, shards, unique_business_ids=True)
    assert not folder.exists()


def test_store_with_unique_ids_is_not_given_more_shards(broker: Broker, tmp_path: Path, clock: FakeClock) -> None:
    broker.publish(opened("t-1", "b"))
    with pytest.raises(InputError, match="unique business ids need a store with 1 shard"):
        reshard_store(broker.store, 2, tmp_path / "wider", lambda text: None)
    assert not (tmp_path / "wider").exists()
    reshard_store(broker.store, 1, tmp_path / "same", lambda text: None)
    with closing(open_broker(tmp_path / "same", clock)) as same:
        same.publish(opened("t-2", "b"))
        assert running(same) == ["b"]


def test_backup_is_not_restored_into_a_store_that_lets_ids_be_held_twice(broker: Broker, tmp_path: Path) -> None:
    create_broker(tmp_path / "plain", 1).close()
    with pytest.raises(StoreExists, match="the backup with 1 shard, profile zeebe, unique business ids"):
        restore_store(Path(broker.store.address), tmp_path / "plain")

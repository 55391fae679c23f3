"""A backup is one instant of a store that others write to; restored, it is that store again, on either database."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from conjoin.errors import StoreDamaged, StoreExists, StoreMissing
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import create_broker, now_us, open_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.upkeep import copying
from conjoin.runtime.upkeep.backup import backup_store, restore_store
from conjoin.store import open_store
from conjoin.store import tables as t
from conjoin.store.port import Store
from conjoin.store.sqlite.store import SqliteStore
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model
from tests.bpmn.snippets import message as message_definition

HANDED_ON = model(
    BEGIN + catch("paid") + catch("shipped", "shipped_message") + END,
    "begin>paid paid>shipped shipped>end",
    PAID + message_definition("shipped_message", "shipped", "=parcel"),
)
"""The second key is rarely on the shard of the first, so orders go between shards."""


@pytest.fixture(params=[1, 3])
def broker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Broker]:
    broker = create_broker(tmp_path / "store", request.param)
    broker.deploy([("order.bpmn", HANDED_ON)])
    broker.catalog.set_policy("paid", {"dedup": "1h"}, broker.now)
    yield broker
    broker.close()


def work(broker: Broker, first: int, count: int) -> list[int]:
    """The keys of instances that have been handed on."""
    created = []
    for number in range(first, first + count):
        made = broker.create_instance("order", {"orderId": f"o-{number}", "parcel": f"p-{number}"})
        broker.publish(NewMessage("paid", f"o-{number}", {}, 0, f"id-{number}"))
        created.append(made.key)
    return created


def rows(store: Store) -> dict[str, list[Any]]:
    return {table.name: sorted(store.rows(table, {}, None, 100_000), key=repr) for table in (*t.SHARD, *t.CATALOG)}


def is_same(store: Store) -> bool:
    return all(it.difference is None for it in verify_store(store))


def test_backup_is_a_store_that_can_be_opened_replayed_and_worked_with(broker: Broker, tmp_path: Path) -> None:
    work(broker, 0, 5)
    backup_store(broker.store, tmp_path / "copy")
    before = rows(broker.store)
    copy = open_broker(tmp_path / "copy")
    assert rows(copy.store) == before
    assert is_same(copy.store)
    copy.publish(NewMessage("shipped", "p-3", {}, 0))
    assert [row.state for row in copy.store.rows(t.INSTANCE, {}, None, 9)].count("completed") == 1
    assert copy.catalog.view().policies.of("paid").dedup == 3_600_000
    copy.close()


def test_every_backup_beside_a_writer_is_one_instant_and_misses_nothing_acknowledged(
    broker: Broker, tmp_path: Path
) -> None:
    writer = open_broker(tmp_path / "store")
    acknowledged: list[int] = []
    stop, begun = Event(), Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            acknowledged.extend(work(writer, number, 1))
            number += 1
            begun.set()

    thread = Thread(target=write)
    thread.start()
    begun.wait()
    try:
        for number in range(4):
            before = list(acknowledged)
            backup_store(broker.store, tmp_path / f"backup-{number}")
            restore_store(tmp_path / f"backup-{number}", tmp_path / f"restored-{number}")
            with closing(SqliteStore(tmp_path / f"restored-{number}")) as restored:
                assert is_same(restored)
                assert set(before) <= {row.key for row in restored.rows(t.INSTANCE, {}, None, 100_000)}
    finally:
        stop.set()
        thread.join()
    assert len(acknowledged) > 4
    writer.close()


def test_work_that_was_under_way_between_shards_is_finished_after_a_restore(tmp_path: Path) -> None:
    """What lies in an outbox is part of the backup."""
    broker = create_broker(tmp_path / "store", 3)
    broker.deploy([("order.bpmn", HANDED_ON)])
    for number in range(50):
        broker.create_instance("order", {"orderId": f"o-{number}", "parcel": f"p-{number}"})
        # Only the shard of the message runs; nobody delivers what it sends.
        runner = broker.post.runners[shard_of(f"o-{number}", 3)]
        runner.run(Batch([NewMessage("paid", f"o-{number}", {}, 0)]), broker.catalog.view())
    backup_store(broker.store, tmp_path / "copy")
    broker.close()
    with closing(SqliteStore(tmp_path / "copy")) as copy:
        assert list(copy.rows(t.OUTBOX, {}, None, 1))
        assert is_same(copy)
    restored = open_broker(tmp_path / "copy")
    restored.tick()
    for number in range(50):
        restored.publish(NewMessage("shipped", f"p-{number}", {}, 0))
    assert {row.state for row in restored.store.rows(t.INSTANCE, {}, None, 100)} == {"completed"}
    assert is_same(restored.store)
    restored.close()


def test_backup_appears_when_it_is_whole(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*asked: Any) -> None:
        raise StoreDamaged("there", "nothing copies right today")

    monkeypatch.setattr(copying, "compare_tallies", fail)
    with pytest.raises(StoreDamaged):
        backup_store(broker.store, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
    monkeypatch.undo()
    backup_store(broker.store, tmp_path / "copy")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy", "store"]


def test_row_that_was_not_copied_is_noticed(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work(broker, 0, 2)
    load = type(broker.store.shard(0)).load

    def forgetful(shard: Any, head: Any, rows: Any) -> None:
        load(shard, head, {table: list(some)[1:] if table is t.INSTANCE else some for table, some in rows.items()})

    monkeypatch.setattr(type(broker.store.shard(0)), "load", forgetful)
    with pytest.raises(StoreDamaged, match=r"table instance holds .* rows, .* and should hold 2 rows"):
        backup_store(broker.store, tmp_path / "copy")


def test_backup_does_not_overwrite(broker: Broker, tmp_path: Path) -> None:
    with pytest.raises(StoreExists, match="choose a place that is empty"):
        backup_store(broker.store, tmp_path / "store")


def test_store_is_restored_into_an_empty_place_only(broker: Broker, tmp_path: Path) -> None:
    work(broker, 0, 2)
    backup_store(broker.store, tmp_path / "copy")
    with pytest.raises(StoreExists, match="restore into an empty place"):
        restore_store(tmp_path / "copy", tmp_path / "store")
    with pytest.raises(StoreMissing):
        restore_store(tmp_path / "nowhere", tmp_path / "restored")
    shards = broker.shard_count
    create_broker(tmp_path / "empty", shards).close()
    restore_store(tmp_path / "copy", tmp_path / "empty")
    with closing(SqliteStore(tmp_path / "empty")) as restored:
        assert rows(restored) == rows(broker.store)
    create_broker(tmp_path / "other", shards + 1).close()
    with pytest.raises(StoreExists, match=f"was made with {shards + 1} shards"):
        restore_store(tmp_path / "copy", tmp_path / "other")


@pytest.fixture
def url() -> Iterator[str]:
    server_module = pytest.importorskip("tests.store.postgres_server", reason="psycopg is not installed")
    try:
        server = server_module.start_server()
    except server_module.NoServer as reason:
        pytest.skip(str(reason))
    yield server.new_database()
    server.remove()


def test_store_moves_to_postgresql_and_back_through_backups(broker: Broker, tmp_path: Path, url: str) -> None:
    work(broker, 0, 3)
    backup_store(broker.store, tmp_path / "first")
    there = restore_store(tmp_path / "first", url)
    postgres = Broker(open_store(url), now_us)
    assert is_same(postgres.store)
    postgres.publish(NewMessage("shipped", "p-1", {}, 0))
    assert is_same(postgres.store)
    back = backup_store(postgres.store, tmp_path / "second")
    assert there["definition"] == back["definition"]
    with closing(SqliteStore(tmp_path / "second")) as copy:
        assert is_same(copy)
        assert rows(copy) == rows(postgres.store)
    with pytest.raises(StoreExists):
        restore_store(tmp_path / "first", url)
    postgres.close()

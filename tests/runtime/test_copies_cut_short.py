"""A restore, backup or reshard that is killed in the middle: its source is intact, and its half is never opened."""

import os
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest

from conjoin.errors import StoreUnfinished
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.upkeep import reshard as resharding
from conjoin.runtime.upkeep.backup import backup_store, restore_store
from conjoin.store.opening import create_store, open_store
from conjoin.store.port import Facts

SHARDS = 2


def make(folder: Path) -> None:
    with closing(create_broker(folder, SHARDS)) as broker:
        for number in range(20):
            broker.publish(NewMessage("paid", f"k-{number}", {}, 3_600_000))


def killed_at_the_second_shard(text: str) -> None:
    if text.startswith(("copying shard 2", "filling shard 2")):
        os._exit(9)


def back_up(folder: Path) -> None:
    with closing(open_store(folder / "store")) as store:
        backup_store(store, folder / "other", killed_at_the_second_shard)


def restore(folder: Path) -> None:
    restore_store(folder / "store", folder / "other", killed_at_the_second_shard)


def restore_into_an_empty_store(folder: Path) -> None:
    create_store(folder / "other", Facts(SHARDS, "zeebe", 0, unique_business_ids=False)).close()
    restore_store(folder / "store", folder / "other", killed_at_the_second_shard)


def reshard(folder: Path) -> None:
    with closing(open_store(folder / "store")) as store:
        resharding.reshard_store(store, 3, folder / "other", killed_at_the_second_shard)


@pytest.mark.parametrize("task", [back_up, restore, restore_into_an_empty_store, reshard])
def test_the_half_is_recognised_and_the_source_is_intact(task: object, tmp_path: Path) -> None:
    make(tmp_path / "store")
    process = get_context("spawn").Process(target=task, args=(tmp_path,))
    process.start()
    process.join(120)
    assert process.exitcode == 9
    halves = [folder for folder in (tmp_path / "other", tmp_path / "other.part") if (folder / "catalog.db").exists()]
    assert len(halves) == 1
    with pytest.raises(StoreUnfinished, match="only half made"):
        open_store(halves[0])
    with closing(open_broker(tmp_path / "store")) as broker:
        assert broker.publish(NewMessage("paid", "k-20", {}, 3_600_000))


def test_a_copy_that_comes_to_its_end_is_whole(tmp_path: Path) -> None:
    make(tmp_path / "store")
    with closing(open_store(tmp_path / "store")) as store:
        backup_store(store, tmp_path / "backup")
    restore_store(tmp_path / "backup", tmp_path / "other")
    for name in ("backup", "other"):
        open_store(tmp_path / name).close()
    assert not (tmp_path / "other.part").exists()

"""Every store: a commit happens whole or not at all, and of two on one snapshot only one."""

import threading
from typing import Any

import pytest

from conjoin.store import tables as t
from conjoin.store.port import Head, Store
from conjoin.store.tables import Table
from tests.store.conftest import Place
from tests.store.samples import ONE_OF_EACH, changes, commit, instance, job, log_row, message, subscription


def all_rows(store: Store, shard: int = 0) -> dict[Table, list[Any]]:
    with store.frozen() as frozen:
        return {table: list(frozen.rows(shard, table)) for table in t.SHARD}


def test_a_commit_is_there_for_the_next_snapshot_and_for_another_process(store: Store, place: Place) -> None:
    head = commit(store.shard(0), ONE_OF_EACH)
    for seen in (store, place.open()):
        snapshot = seen.shard(0).begin()
        assert snapshot.head == head
        snapshot.abandon()
        assert all_rows(seen) == ONE_OF_EACH


def test_a_commit_touches_no_other_shard(store: Store) -> None:
    commit(store.shard(1), ONE_OF_EACH)
    assert not any(all_rows(store, 0).values())
    assert store.shard(0).begin().head.version == 0


def test_a_row_with_the_same_key_takes_the_place_of_the_old_one(store: Store) -> None:
    commit(store.shard(0), ONE_OF_EACH)
    put = {t.APART: [subscription(2, closed_at=50)], t.INSTANCE: [instance(100, body='{"changed": 1}')]}
    commit(store.shard(0), put)
    assert all_rows(store) == {**ONE_OF_EACH, **put}


def test_rows_are_dropped_by_their_keys(store: Store) -> None:
    commit(store.shard(0), ONE_OF_EACH)
    drop = {
        table: [tuple(getattr(row, column) for column in table.key) for row in rows]
        for table, rows in ONE_OF_EACH.items()
    }
    commit(store.shard(0), {}, drop)
    assert not any(all_rows(store).values())


def test_dropping_what_is_not_there_changes_nothing(store: Store) -> None:
    commit(store.shard(0), ONE_OF_EACH)
    commit(store.shard(0), {}, {t.JOB: [(99,)], t.APART: [("acme", "order-1", 99)], t.LOCK: []})
    assert all_rows(store) == ONE_OF_EACH


def test_a_row_that_is_dropped_and_put_in_one_commit_is_there(store: Store) -> None:
    commit(store.shard(0), {t.JOB: [job(1)]})
    commit(store.shard(0), {t.JOB: [job(1, retries=9)]}, {t.JOB: [(1,)]})
    assert all_rows(store)[t.JOB] == [job(1, retries=9)]


def test_a_commit_may_carry_nothing_but_its_head(store: Store) -> None:
    head = commit(store.shard(0), {})
    assert head.version == 1
    assert store.shard(0).begin().head == head


def test_a_snapshot_does_not_see_what_is_committed_after_it(store: Store, place: Place) -> None:
    commit(store.shard(0), {t.APART: [subscription(1)]})
    snapshot = place.open().shard(0).begin()
    commit(store.shard(0), {t.APART: [subscription(2)], t.JOB: [job(1)]})
    assert snapshot.head.version == 1
    assert snapshot.key_rows("acme", ["order-1"], 1, 1_000).subscriptions == [subscription(1)]
    assert snapshot.ready_jobs("acme", "payment", 1) == []
    snapshot.abandon()


def test_who_loses_the_race_writes_nothing(store: Store, place: Place) -> None:
    late = place.open().shard(0).begin()
    commit(store.shard(0), {t.JOB: [job(1)], t.LOG: [log_row(1)]})
    assert late.commit(changes(late.head, {t.JOB: [job(1, retries=0), job(2)], t.MESSAGE: [message(1)]})) is False
    assert all_rows(store) == {table: [] for table in t.SHARD} | {t.JOB: [job(1)], t.LOG: [log_row(1)]}


def test_who_has_read_before_losing_the_race_writes_nothing_either(store: Store, place: Place) -> None:
    commit(store.shard(0), {t.JOB: [job(1)]})
    late = place.open().shard(0).begin()
    assert late.ready_jobs("acme", "payment", 9) == [job(1)]
    commit(store.shard(0), {t.JOB: [job(2)]})
    assert late.commit(changes(late.head, {}, {t.JOB: [(1,)]})) is False
    assert all_rows(store)[t.JOB] == [job(1), job(2)]


def test_who_has_lost_a_race_can_begin_again_and_win(store: Store, place: Place) -> None:
    other = place.open().shard(0)
    late = other.begin()
    commit(store.shard(0), {})
    assert not late.commit(changes(late.head))
    assert commit(other, {t.JOB: [job(2)]}).version == 2
    assert all_rows(store)[t.JOB] == [job(2)]


def test_what_is_abandoned_leaves_nothing_and_stops_nobody(store: Store, place: Place) -> None:
    for locked in (False, True):
        place.open().shard(0).begin(locked=locked).abandon()
    assert commit(store.shard(0), {}).version == 1


def test_a_shard_gives_out_one_snapshot_at_a_time(store: Store) -> None:
    snapshot = store.shard(0).begin()
    with pytest.raises(AssertionError, match="one snapshot"):
        store.shard(0).begin()
    snapshot.abandon()
    store.shard(0).begin().abandon()


def test_somebody_else_reads_a_shard_while_its_own_snapshot_is_open(store: Store) -> None:
    own = store.shard(0).begin(locked=True)
    reader = store.shard(0).reader()
    other = reader.begin()
    assert (reader.index, other.head) == (0, own.head)
    assert own.commit(changes(own.head, {t.JOB: [job(1)]}))
    assert other.ready_jobs("acme", "payment", 9) == []
    other.abandon()
    reader.close()


@pytest.mark.parametrize("committed", [True, False])
def test_a_snapshot_that_is_over_cannot_be_used_again(store: Store, committed: bool) -> None:
    snapshot = store.shard(0).begin()
    if committed:
        snapshot.commit(changes(snapshot.head))
    else:
        snapshot.abandon()
    with pytest.raises(AssertionError, match="over"):
        snapshot.commit(changes(snapshot.head))
    with pytest.raises(AssertionError, match="over"):
        snapshot.received()


def test_a_commit_must_move_the_version(store: Store) -> None:
    snapshot = store.shard(0).begin()
    with pytest.raises(AssertionError, match="version"):
        snapshot.commit(changes(Head(-1, 0, 0, 0)))


def test_who_has_the_lock_wins_and_who_began_before_loses(store: Store, place: Place) -> None:
    early = place.open().shard(0).begin()
    holder = store.shard(0).begin(locked=True)
    won: list[bool] = []
    trying = threading.Thread(target=lambda: won.append(early.commit(changes(early.head, {t.JOB: [job(1)]}))))
    trying.start()
    trying.join(0.2)
    assert holder.commit(changes(holder.head, {t.JOB: [job(2)]})) is True
    trying.join(20)
    assert won == [False]
    assert all_rows(store)[t.JOB] == [job(2)]


def test_a_lock_that_is_given_back_lets_the_one_who_began_before_win(store: Store, place: Place) -> None:
    early = place.open().shard(0).begin()
    holder = store.shard(0).begin(locked=True)
    won: list[bool] = []
    trying = threading.Thread(target=lambda: won.append(early.commit(changes(early.head))))
    trying.start()
    trying.join(0.2)
    assert won == []
    holder.abandon()
    trying.join(20)
    assert won == [True]


def test_who_waits_for_the_lock_then_sees_what_its_holder_has_committed(store: Store, place: Place) -> None:
    holder = store.shard(0).begin(locked=True)
    other = place.open().shard(0)
    heads: list[Head] = []

    def wait() -> None:
        snapshot = other.begin(locked=True)
        heads.append(snapshot.head)
        assert snapshot.commit(changes(snapshot.head))

    waiting = threading.Thread(target=wait)
    waiting.start()
    waiting.join(0.2)
    assert heads == []
    assert holder.commit(changes(holder.head))
    waiting.join(20)
    assert [head.version for head in heads] == [1]
    assert store.shard(0).begin().head.version == 2


def test_writers_who_race_apply_every_change_once(store: Store, place: Place) -> None:
    """A counter in a row: an update that was lost or done twice would show in the sum."""
    rounds, writers = 25, 3
    commit(store.shard(0), {t.JOB: [job(1, retries=0)]})
    failures: list[BaseException] = []

    def count(mine: Store) -> None:
        try:
            for _ in range(rounds):
                _increment(mine)
        except BaseException as failure:  # noqa: BLE001 - a thread of a test has nobody else to tell
            failures.append(failure)

    threads = [threading.Thread(target=count, args=(place.open(),)) for _ in range(writers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert failures == []
    assert all_rows(store)[t.JOB] == [job(1, retries=rounds * writers)]
    assert [row.version for row in store.shard(0).log()] == list(range(2, rounds * writers + 2))


def _increment(store: Store) -> None:
    lost = 0
    while True:
        snapshot = store.shard(0).begin(locked=lost > 1)
        [row] = snapshot.ready_jobs("acme", "payment", 1)
        put = {t.JOB: [row._replace(retries=row.retries + 1)], t.LOG: [log_row(snapshot.head.version + 1)]}
        if snapshot.commit(changes(snapshot.head, put)):
            return
        lost += 1


def test_shards_commit_side_by_side_from_threads_of_one_store(store: Store) -> None:
    def work(index: int) -> None:
        for key in range(20):
            commit(store.shard(index), {t.JOB: [job(key, retries=index)]})

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for index in range(2):
        assert all_rows(store, index)[t.JOB] == [job(key, retries=index) for key in range(20)]

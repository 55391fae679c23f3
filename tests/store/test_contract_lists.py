"""Every store: lists over all shards, in pages; the log; a frozen store; loading in bulk."""

import threading
from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

import pytest

from conjoin.store import tables as t
from conjoin.store.port import Head, Meets, RowOrder, Store
from conjoin.store.rows import PolicyRow, ReceivedRow
from conjoin.store.tables import Table
from tests.store.conftest import Place
from tests.store.samples import ONE_OF_EACH, changes, commit, instance, job, lock, log_row, message, subscription


def pages(store: Store, table: Table, where: dict[str, Any], size: int) -> Iterator[list[Any]]:
    after = None
    while page := list(store.rows(table, where, after, size)):
        yield page
        after = tuple(getattr(page[-1], column) for column in table.key)


def test_a_list_is_in_the_order_of_keys_whatever_shard_they_are_on(store: Store) -> None:
    for index in range(2):
        commit(store.shard(index), {t.MESSAGE: [message(key) for key in range(9 + index, index, -2)]})
    assert [row.key for row in store.rows(t.MESSAGE, {}, None, 99)] == list(range(1, 11))
    assert [row.key for row in store.rows(t.MESSAGE, {}, None, 3)] == [1, 2, 3]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 100])
def test_pages_leave_nothing_out_and_repeat_nothing(store: Store, size: int) -> None:
    rows = [message(key, name="paid" if key % 3 else "shipped") for key in range(30)]
    for index in range(2):
        commit(store.shard(index), {t.MESSAGE: [row for row in rows if row.key // 4 % 2 == index]})
    assert [row for page in pages(store, t.MESSAGE, {}, size) for row in page] == rows
    paid = [row for row in rows if row.name == "paid"]
    assert [row for page in pages(store, t.MESSAGE, {"name": "paid"}, size) for row in page] == paid


def test_pages_work_for_keys_of_several_columns_ordered_by_code_point(store: Store) -> None:
    keys = ["A", "a", "B", "_", "é", "z", "ß", "Ω", "🧾", "\uff5e", "a b", "a-b", "ab"]
    rows = [
        subscription(n % 3, tenant_id=tenant, correlation_key=key)
        for tenant in ("b", "a")
        for n, key in enumerate(keys)
    ]
    rows += [subscription(n + 9, correlation_key="a") for n in range(4)]
    for index in range(2):
        commit(store.shard(index), {t.APART: rows[index::2]})
    ordered = sorted(rows, key=lambda row: (row.tenant_id, row.correlation_key, row.key))
    assert [row for page in pages(store, t.SUBSCRIPTION, {}, 4) for row in page] == ordered


def test_a_list_can_ask_for_several_columns_for_one_of_some_values_and_for_no_value(store: Store) -> None:
    rows = [
        instance(1, state="active", version=1),
        instance(2, state="completed", ended_at=9, version=2),
        instance(3, state="active", version=2, tenant_id="other"),
        instance(4, state="terminated", ended_at=9, version=3),
    ]
    commit(store.shard(0), {t.INSTANCE: rows})

    def found(**where: Any) -> list[int]:
        return [row.key for row in store.rows(t.INSTANCE, where, None, 99)]

    assert found(state="active") == [1, 3]
    assert found(state=("active", "terminated")) == [1, 3, 4]
    assert found(state=("active", "terminated"), version=(2, 3)) == [3, 4]
    assert found(ended_at=None, tenant_id="acme") == [1]
    assert found(state=()) == []
    assert found(version=Meets((("<", 3),))) == [1, 2, 3]
    assert found(ended_at=Meets((("<", 10),)), state="completed") == [2]
    assert found(ended_at=Meets((("<", 9),))) == []
    assert found(state="'; drop table instance; --") == []


def test_tables_without_keys_of_their_own_are_listed_but_not_paged(store: Store) -> None:
    for index in range(2):
        commit(store.shard(index), {t.RECEIVED: [ReceivedRow(7, 10 + index)]})
    assert sorted(store.rows(t.RECEIVED, {}, None, 9)) == [ReceivedRow(7, 10), ReceivedRow(7, 11)]
    with pytest.raises(AssertionError, match="page"):
        list(store.rows(t.RECEIVED, {}, (7,), 9))


def test_a_list_of_the_catalog_is_a_list_like_any_other(store: Store) -> None:
    rows = [PolicyRow(1, "paid", "{}", 1), PolicyRow(1, "shipped", "{}", 1), PolicyRow(2, "paid", "{}", 2)]
    for version in range(2):
        store.catalog.append(version, {t.POLICY: [row for row in rows if row.catalog_version == version + 1]})
    assert list(store.rows(t.POLICY, {"name": "paid"}, None, 9)) == [rows[0], rows[2]]
    assert list(store.rows(t.POLICY, {}, (1, "paid"), 9)) == rows[1:]


def test_a_list_can_be_asked_for_while_a_snapshot_is_open(store: Store) -> None:
    commit(store.shard(0), {t.JOB: [job(1)]})
    snapshot = store.shard(0).begin(locked=True)
    assert list(store.rows(t.JOB, {}, None, 9)) == [job(1)]
    snapshot.abandon()


def test_the_log_is_read_by_version(store: Store) -> None:
    for version in range(1, 8):
        commit(store.shard(0), {t.LOG: [log_row(version)]})
    assert list(store.shard(0).log()) == [log_row(version) for version in range(1, 8)]
    assert list(store.shard(0).log(after=5)) == [log_row(6), log_row(7)]
    assert list(store.shard(0).log(after=2, limit=2)) == [log_row(3), log_row(4)]
    assert list(store.shard(1).log()) == []


def test_the_log_can_be_read_while_a_snapshot_is_open(store: Store) -> None:
    commit(store.shard(0), {t.LOG: [log_row(1)]})
    snapshot = store.shard(0).begin()
    assert list(store.shard(0).log()) == [log_row(1)]
    assert snapshot.commit(changes(snapshot.head))


def test_a_block_of_any_bytes_comes_back_as_it_was(store: Store) -> None:
    row = log_row(1)._replace(block=bytes(range(256)) * 1000)
    commit(store.shard(0), {t.LOG: [row]})
    assert list(store.shard(0).log()) == [row]


def test_a_frozen_store_has_everything(store: Store) -> None:
    head = commit(store.shard(1), ONE_OF_EACH)
    store.catalog.append(0, {t.POLICY: [PolicyRow(1, "*", "{}", 1)]})
    with store.frozen() as frozen:
        assert (frozen.head(0).version, frozen.head(1)) == (0, head)
        assert {table: list(frozen.rows(1, table)) for table in t.SHARD} == ONE_OF_EACH
        assert list(frozen.catalog_rows(t.POLICY)) == [PolicyRow(1, "*", "{}", 1)]
        assert list(frozen.catalog_rows(t.DEFINITION)) == []


def test_a_frozen_store_does_not_move_and_stops_nobody(store: Store) -> None:
    commit(store.shard(0), {t.JOB: [job(1)]})
    with store.frozen() as frozen:
        commit(store.shard(0), {t.JOB: [job(2)]})
        assert store.catalog.append(0, {t.POLICY: [PolicyRow(1, "*", "{}", 1)]})
        assert frozen.head(0).version == 1
        assert list(frozen.rows(0, t.JOB)) == [job(1)]
        assert list(frozen.catalog_rows(t.POLICY)) == []
    assert list(store.rows(t.JOB, {}, None, 9)) == [job(1), job(2)]


def test_a_frozen_store_is_one_instant_over_all_shards_while_others_commit(store: Store, place: Place) -> None:
    """One writer goes round the shards, so at any instant the first is level with the second or one ahead."""
    writer, stop = place.open(), threading.Event()

    def go_round() -> None:
        for number in count(1):
            for index in range(2):
                commit(writer.shard(index), {t.LOG: [log_row(number)], t.LOCK: [lock(f"order-{number}")]})
            if stop.is_set():
                return

    rounds = threading.Thread(target=go_round, daemon=True)
    rounds.start()
    try:
        seen = [_frozen_counts(store) for _ in range(25)]
    finally:
        stop.set()
        rounds.join(60)
    assert all(first - second in (0, 1) for first, second in seen), seen
    assert seen[-1] > seen[0]


def _frozen_counts(store: Store) -> tuple[int, int]:
    with store.frozen() as frozen:
        first, second = (frozen.head(index).version for index in range(2))
        for index, version in enumerate((first, second)):
            assert len(list(frozen.rows(index, t.LOG))) == len(list(frozen.rows(index, t.LOCK))) == version
    return first, second


def test_an_empty_shard_is_filled_in_bulk(store: Store, place: Place) -> None:
    rows = {t.MESSAGE: (message(key) for key in range(2_000)), t.APART: iter([subscription(1)])}
    head = Head(41, 42, 43, 44)
    store.shard(1).load(head, {**rows, t.LOG: [log_row(41)]})
    with place.open().frozen() as frozen:
        assert frozen.head(1) == head
        assert list(frozen.rows(1, t.MESSAGE)) == [message(key) for key in range(2_000)]
        assert list(frozen.rows(1, t.SUBSCRIPTION)) == [subscription(1)]
    assert commit(store.shard(1), {t.MESSAGE: [message(7, live=0)]}).version == 42


def test_a_shard_that_is_not_empty_is_not_loaded(store: Store) -> None:
    commit(store.shard(0), {t.JOB: [job(1)]})
    with pytest.raises(AssertionError, match="empty"):
        store.shard(0).load(Head(5, 5, 5, 5), {t.JOB: [job(2)]})
    assert list(store.rows(t.JOB, {}, None, 9)) == [job(1)]


def test_a_load_that_breaks_off_leaves_the_shard_empty(store: Store) -> None:
    def broken() -> Iterator[Any]:
        yield job(1)
        raise ValueError("the backup ends here")

    with pytest.raises(ValueError, match="ends here"):
        store.shard(0).load(Head(5, 5, 5, 5), {t.JOB: broken()})
    assert list(store.rows(t.JOB, {}, None, 9)) == []
    assert store.shard(0).begin().head.version == 0


@pytest.mark.parametrize("backward", [False, True])
def test_pages_go_by_columns_and_backward_too(store: Store, backward: bool) -> None:
    rows = [instance(key, process_id="BaéΩb"[key % 5], started_at=key // 7) for key in range(30)]
    for index in range(2):
        commit(store.shard(index), {t.INSTANCE: rows[index::2]})
    order = RowOrder(("process_id", "started_at"), backward)
    found: list[Any] = []
    after = None
    while page := list(store.rows(t.INSTANCE, {}, after, 4, order)):
        found += page
        after = (page[-1].process_id, page[-1].started_at, page[-1].key)
    assert found == sorted(rows, key=lambda row: (row.process_id, row.started_at, row.key), reverse=backward)


@pytest.mark.parametrize(
    ("column", "tests", "keys"),
    [
        ("started_at", ((">=", 10), ("<", 30)), [1, 2]),
        ("started_at", ((">", 10), ("<=", 30)), [2, 3]),
        ("state", (("<>", "active"),), [2, 4]),
        ("state", (("not in", ("active", "completed")),), [4]),
        ("ended_at", (("=", None),), [1, 3]),
        ("ended_at", (("<>", None),), [2, 4]),
        ("ended_at", (("<>", 40),), [1, 2, 3]),
        ("ended_at", (("not in", (40,)),), [1, 2, 3]),
        ("business_id", (("like", "a*c"),), [1, 2]),
        ("business_id", (("like", "a?c"),), [1]),
        ("business_id", (("like", "A*"),), []),
        ("business_id", (("like", "*%_"),), [3]),
        ("business_id", (("like", "[a]\\*"),), [4]),
        ("business_id", (("like", "a*"), ("<>", "abc")), [2]),
    ],
)
def test_a_list_can_compare(store: Store, column: str, tests: Any, keys: list[int]) -> None:
    rows = [
        instance(1, started_at=10, state="active", ended_at=None, business_id="abc"),
        instance(2, started_at=20, state="completed", ended_at=25, business_id="abbc"),
        instance(3, started_at=30, state="active", ended_at=None, business_id="x\\%_"),
        instance(4, started_at=40, state="terminated", ended_at=40, business_id="[a]*"),
    ]
    for index in range(2):
        commit(store.shard(index), {t.INSTANCE: rows[index::2]})
    where = {column: Meets(tests)}
    assert [row.key for row in store.rows(t.INSTANCE, where, None, 99)] == keys
    assert store.count(t.INSTANCE, where, 99) == len(keys)
    assert store.count(t.INSTANCE, where, 1) == min(len(keys), 1)


def test_a_list_knows_no_other_columns_than_those_of_its_table(store: Store) -> None:
    with pytest.raises(KeyError):
        store.rows(t.INSTANCE, {"key) --": 1}, None, 9)


def test_conditions_that_an_index_covers_part_of_mean_the_same_as_any_other(store: Store) -> None:
    fates = [("correlated", 0), ("expired", 0), ("buffered", 1), ("correlated", 1), ("expired", 0)]
    rows = [message(key, verdict=verdict, live=live) for key, (verdict, live) in enumerate(fates)]
    commit(store.shard(0), {t.MESSAGE: rows[::2], t.INSTANCE: [instance(7, state="terminated"), instance(8)]})
    commit(store.shard(1), {t.MESSAGE: rows[1::2], t.INSTANCE: [instance(9, state="completed", parent_key=3)]})

    def found(table: Table, **where: Any) -> list[int]:
        return [row.key for row in store.rows(table, where, None, 99, RowOrder(backward=True))]

    assert found(t.MESSAGE, verdict=Meets((("<>", "correlated"),))) == [4, 2, 1]
    assert found(t.MESSAGE, verdict=Meets((("=", "expired"), ("<>", "correlated"))), key=Meets((("<", 4),))) == [1]
    assert found(t.MESSAGE, live=1, verdict="correlated") == [3]
    assert found(t.MESSAGE, live=0, verdict="correlated") == [0]
    assert found(t.INSTANCE, state=Meets((("<>", "completed"),))) == [8, 7]
    assert found(t.INSTANCE, parent_key=Meets((("<>", 0),)), tree_key=9) == [9]
    assert store.count(t.MESSAGE, {"live": 1, "verdict": Meets((("<>", "correlated"),))}, 9) == 1


def test_texts_that_begin_alike_are_told_apart_however_long_they_are(store: Store) -> None:
    chance = Random(3)
    long = "".join(chr(chance.randrange(0x10000, 0x10FFFF)) for _ in range(8_000))
    rows = [message(key, name=f"{long}{key}", correlation_key=f"{long}{key % 2}", live=0) for key in range(4)]
    commit(store.shard(0), {t.MESSAGE: rows})
    assert list(store.rows(t.MESSAGE, {"name": f"{long}2"}, None, 9)) == [rows[2]]
    assert list(store.rows(t.MESSAGE, {"correlation_key": f"{long}1"}, None, 9)) == [rows[1], rows[3]]
    assert list(store.rows(t.MESSAGE, {"correlation_key": long}, None, 9)) == []

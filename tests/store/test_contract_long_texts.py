"""Every store: texts that clients make may have 32,768 characters of four bytes that no compression makes shorter."""

from random import Random
from typing import Any

import pytest

from conjoin.kernel.storable import LONGEST_KEY
from conjoin.store import tables as t
from conjoin.store.port import ShardStore, Store
from conjoin.store.rows import DeadLetterRow, InboxGroupRow, PolicyRow, PositionRow, SignalRow
from tests.store.samples import (
    ONE_OF_EACH,
    commit,
    inbox,
    instance,
    job,
    lock,
    message,
    reading,
    subscription,
    timer,
)

SEED = 20261117


def long_text(number: int) -> str:
    """Any two of them begin alike, so that only the whole text tells them apart."""
    middle = LONGEST_KEY // 2
    first, rest = Random(SEED), Random(SEED + number + 1)
    return "".join(chr((first if at < middle else rest).randrange(0x10000, 0x110000)) for at in range(LONGEST_KEY))


ONE, TWO = long_text(1), long_text(2)
BOUNDED = {
    *("place", "crowd", "state", "verdict", "reason", "kind"),
    # Made by Conjoin, never by a client.
    *("digest", "reach"),
}


def _long(table: t.Table, text: str) -> Any:
    """A row with a long text wherever a client may have made it."""
    [row] = ONE_OF_EACH[table]
    kinds = zip(table.columns, table.types, strict=True)
    changed = {column: text for column, kind in kinds if kind is str and column not in BOUNDED}
    return row._replace(**changed)


WITH_TEXTS = [table for table in ONE_OF_EACH if str in table.types]


@pytest.mark.parametrize("table", WITH_TEXTS, ids=lambda table: table.name)
def test_rows_with_long_texts_are_put_replaced_and_dropped(store: Store, table: t.Table) -> None:
    shard, row, other = store.shard(0), _long(table, ONE), _long(table, TWO)
    own = [column for column in table.columns if column not in table.key]
    kinds = dict(zip(table.columns, table.types, strict=True))
    again = row._replace(**{own[-1]: {int: 77, str: "again", bytes: b"again"}[kinds[own[-1]]]})
    if not any(kinds[column] is str for column in table.key):
        other = other._replace(**{table.key[0]: 1234})
    commit(shard, {table: [row, other]})
    assert sorted(store.rows(table, {}, None, 9)) == sorted([row, other])
    commit(shard, {table: [again]})
    assert sorted(store.rows(table, {}, None, 9)) == sorted([again, other])
    commit(shard, {}, {table: [tuple(getattr(row, column) for column in table.key)]})
    assert list(store.rows(table, {}, None, 9)) == [other]


def test_what_a_correlation_key_has_is_found_by_a_long_one(shard: ShardStore) -> None:
    texts = {"tenant_id": ONE, "correlation_key": ONE}
    mine, others = (
        {
            t.MESSAGE: [message(key + 1, **its, name=ONE, message_id=its["correlation_key"])],
            t.APART: [subscription(key + 2, **its, name=ONE, crowd="m", busy_with=0)],
            t.LOCK: [lock(**its, process_id=ONE, since=key)],
            t.INSTANCE: [instance(key + 3, tenant_id=ONE, wait_on=its["correlation_key"], wait_key=key + 4)],
        }
        for key, its in ((0, texts), (10, {**texts, "correlation_key": TWO}))
    )
    commit(shard, {table: [*rows, *others[table]] for table, rows in mine.items()})
    with reading(shard) as snapshot:
        assert [list(rows) for rows in snapshot.key_rows(ONE, [ONE], 9, 9)] == [
            mine[table] for table in (t.APART, t.MESSAGE, t.LOCK, t.INSTANCE)
        ]
        assert snapshot.messages_with_id(ONE, ONE, ONE, ONE) == mine[t.MESSAGE]
        assert snapshot.messages_with_id(ONE, ONE, ONE, TWO) == []
        assert snapshot.live_messages(ONE, TWO, ONE, 0, 9) == others[t.MESSAGE]
        assert snapshot.subscriptions(ONE, ONE, [2, 12]) == mine[t.APART]
        assert snapshot.crowd("idle", ONE, TWO, ("a", "z"), 9) == others[t.APART]
        assert snapshot.key_rows(TWO, [ONE, TWO], 9, 9) == ([], [], [], [])


def test_other_things_are_found_by_long_texts(shard: ShardStore) -> None:
    mine: dict[t.Table, list[Any]] = {
        t.JOB: [job(4, type=ONE, tenant_id=ONE)],
        t.TIMER: [timer(5, process_id=ONE, tenant_id=ONE, instance_key=0)],
        t.INSTANCE: [instance(100, business_id=ONE, process_id=ONE, tenant_id=ONE)],
        t.SIGNAL: [SignalRow(7, 100, ONE, ONE)],
        t.POSITION: [PositionRow(ONE, ONE, "1"), PositionRow(ONE, TWO, "2")],
        t.DEAD_LETTER: [DeadLetterRow(9, ONE, ONE, 3, "unreadable", ONE, b"x", 10)],
        t.MESSAGE: [message(1, business_id=ONE, tenant_id=ONE)],
    }
    commit(shard, mine)
    with reading(shard) as snapshot:
        assert (snapshot.ready_jobs(ONE, ONE, 9), snapshot.ready_jobs(ONE, TWO, 9)) == (mine[t.JOB], [])
        assert (snapshot.start_timers(ONE, ONE), snapshot.start_timers(ONE, TWO)) == (mine[t.TIMER], [])
        assert [it.instance_key for it in snapshot.id_holders(ONE, [ONE, TWO])] == [100]
        assert (snapshot.signal_instances(ONE, ONE), snapshot.signal_instances(ONE, TWO)) == ([100], [])
        assert snapshot.position(ONE) == {ONE: "1", TWO: "2"}
        assert snapshot.positions(ONE, [TWO]) == {TWO: "2"}
        assert snapshot.messages_with_business_id(ONE, ONE, 0, 9) == mine[t.MESSAGE]


def test_the_inbox_finds_long_texts(shard: ShardStore) -> None:
    rows = [inbox(1, ONE, message_id=ONE, channel=ONE, tenant_id=ONE), inbox(2, TWO, message_id=TWO)]
    groups = [InboxGroupRow(ONE, "own", 10, 1), InboxGroupRow(TWO, "own", 10, 1)]
    commit(shard, {t.INBOX: rows, t.INBOX_GROUP: groups})
    with reading(shard) as snapshot:
        assert snapshot.inbox_line([ONE], 9) == rows[:1]
        assert snapshot.inbox_due_rows([TWO], 10, 9) == rows[1:]
        assert snapshot.inbox_line_due(ONE, 10, 9) == rows[:1]
        assert snapshot.inbox_with_ids(ONE, ONE, [ONE, TWO]) == rows[:1]
        assert snapshot.inbox_groups([TWO]) == groups[1:]
        assert sorted(snapshot.inbox_groups_due("own", 10, 9)) == sorted(groups)
        [first] = snapshot.inbox_groups_in_line("", 1)
        [second] = snapshot.inbox_groups_in_line(first[0], 9)
        assert {first[0], second[0]} == {ONE, TWO}
        assert snapshot.inbox_groups_in_line(second[0], 9) == []


def test_lists_page_over_long_keys_and_ask_for_them(store: Store) -> None:
    rows = [subscription(key, correlation_key=text) for key, text in enumerate((ONE, TWO, "short"))]
    commit(store.shard(0), {t.APART: rows[:1]})
    commit(store.shard(1), {t.APART: rows[1:]})
    found: list[Any] = []
    while page := list(store.rows(t.SUBSCRIPTION, {}, (found and found[-1][:3]) or None, 1)):
        found += page
    assert sorted(found) == sorted(rows)
    assert list(store.rows(t.SUBSCRIPTION, {"correlation_key": TWO}, None, 9)) == [rows[1]]


def test_a_policy_may_have_a_long_name(store: Store) -> None:
    rows = [PolicyRow(1, ONE, "{}", 0), PolicyRow(1, TWO, "{}", 0)]
    assert store.catalog.append(0, {t.POLICY: rows})
    assert sorted(store.catalog.policies()) == sorted(rows)


@pytest.mark.parametrize("text", ["\\" * 300, "\\x" + "0" * 300, "'" * 101, "é" * 100, "é" * 101, "x" * 100])
def test_a_text_of_any_signs_is_found(shard: ShardStore, text: str) -> None:
    rows = [lock(text), lock(text + "!")]
    commit(shard, {t.LOCK: rows})
    commit(shard, {t.LOCK: rows})
    with reading(shard) as snapshot:
        assert snapshot.key_rows("acme", [text], 9, 9).locks == rows[:1]


def test_the_short_form_of_one_text_is_no_other_text(shard: ShardStore) -> None:
    """Nobody can take the place of a key by naming the digest of it."""
    from hashlib import sha256

    short = ONE[:100] + sha256(ONE.encode()).hexdigest()
    commit(shard, {t.LOCK: [lock(ONE, since=1), lock(short, since=2)]})
    with reading(shard) as snapshot:
        assert [row.since for row in snapshot.key_rows("acme", [ONE], 9, 9).locks] == [1]
        assert [row.since for row in snapshot.key_rows("acme", [short], 9, 9).locks] == [2]

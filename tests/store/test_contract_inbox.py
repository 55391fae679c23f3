"""Every store: what a run of the inbox reads, and that it reads no more than that."""

import pytest

from conjoin.store import tables as t
from conjoin.store.port import ShardStore, Store
from conjoin.store.rows import InboxAttemptRow, InboxContentRow, InboxGroupRow
from tests.store.samples import LARGEST, ODD_TEXTS, commit, inbox, reading


def keys(rows: object) -> list[int]:
    return sorted(row.key for row in rows)  # type: ignore[attr-defined]


def parked(key: int, group_key: str = "g", **columns: object) -> object:
    return inbox(key, group_key, state="parked", in_line=0, attempts=5, due_at=None, **columns)


def ended(key: int, at: int) -> object:
    return inbox(key, state="done", in_line=0, due_at=None, decided_at=at)


def test_groups_that_are_due_come_by_instant_and_name(shard: ShardStore) -> None:
    rows = [("b", "own", 20), ("a", "own", 20), ("c", "own", 5), ("d", "own", 21), ("e", "remote", 1)]
    commit(shard, {t.INBOX_GROUP: [InboxGroupRow(*row, 1) for row in rows]})
    with reading(shard) as snapshot:
        assert [row.group_key for row in snapshot.inbox_groups_due("own", 20, 9)] == ["c", "a", "b"]
        assert [row.group_key for row in snapshot.inbox_groups_due("own", 20, 2)] == ["c", "a"]
        assert [row.group_key for row in snapshot.inbox_groups_due("remote", 20, 9)] == ["e"]
        assert {row.group_key: row.due_at for row in snapshot.inbox_groups(["d", "x", "e"])} == {"d": 21, "e": 1}


def test_line_of_a_group_has_its_first_messages_whatever_is_parked_or_over(shard: ShardStore) -> None:
    line = [inbox(9, place="1"), inbox(8, place="1", state="paused"), inbox(1, place="2"), inbox(2, "h")]
    commit(shard, {t.INBOX: [*line, parked(3, place="0"), ended(4, 5)]})
    with reading(shard) as snapshot:
        assert keys(snapshot.inbox_line(["g"], 2)) == [8, 9]
        assert keys(snapshot.inbox_line(["g", "h", "none"], 9)) == [1, 2, 8, 9]


def test_places_are_compared_byte_by_byte(shard: ShardStore) -> None:
    texts = sorted(text for text in ODD_TEXTS if text)
    commit(shard, {t.INBOX: [inbox(number, place=text) for number, text in enumerate(texts)]})
    with reading(shard) as snapshot:
        for limit in range(1, len(texts) + 1):
            assert keys(snapshot.inbox_line(["g"], limit)) == list(range(limit))


def test_rows_that_are_due_are_the_earliest_or_those_that_come_first_in_line(shard: ShardStore) -> None:
    rows = [inbox(1, due_at=30), inbox(2, due_at=10), inbox(3, due_at=20), inbox(4, due_at=None, state="paused")]
    commit(shard, {t.INBOX: [*rows, inbox(5, "h", due_at=25)]})
    with reading(shard) as snapshot:
        assert keys(snapshot.inbox_due_rows(["g", "h"], 30, 2)) == [2, 3, 5]
        assert keys(snapshot.inbox_due_rows(["g", "h"], 10, 9)) == [2]
        assert [row.key for row in snapshot.inbox_line_due("g", 30, 2)] == [1, 2]
        assert [row.key for row in snapshot.inbox_line_due("g", 20, 9)] == [2, 3]
        assert snapshot.inbox_next_due(["g", "h", "none"], 20) == {"g": 30, "h": 25}


def test_gatekeepers_have_failed_and_are_not_due(shard: ShardStore) -> None:
    fresh, due = inbox(1, due_at=99), inbox(2, attempts=1, due_at=10)
    soon, late = inbox(3, attempts=1, due_at=30), inbox(4, attempts=2, due_at=40)
    commit(shard, {t.INBOX: [fresh, due, soon, late, parked(5)]})
    with reading(shard) as snapshot:
        assert keys(snapshot.inbox_gatekeepers(["g"], 10)) == [4]
        assert keys(snapshot.inbox_gatekeepers(["g"], 40)) == []
    commit(shard, {t.INBOX: [inbox(n, attempts=1, due_at=None, state="paused") for n in (6, 7)]})
    with reading(shard) as snapshot:
        assert len(snapshot.inbox_gatekeepers(["g"], 40)) == 1


def test_first_parked_message_that_does_not_expire_is_found(shard: ShardStore) -> None:
    commit(shard, {t.INBOX: [parked(1, expires_at=10), parked(2, expires_at=11), parked(3)]})
    with reading(shard) as snapshot:
        assert keys(snapshot.inbox_parked(["g"], 9)) == [1]
        assert keys(snapshot.inbox_parked(["g"], 10)) == [2]
        assert keys(snapshot.inbox_parked(["g"], 11)) == [3]


def test_calls_that_were_not_answered_are_found_by_their_group(shard: ShardStore) -> None:
    commit(shard, {t.INBOX: [inbox(1), inbox(2, state="uncertain"), inbox(3, state="uncertain")]})
    with reading(shard) as snapshot:
        assert keys(snapshot.inbox_uncertain(["g"], 9)) == [2, 3]
        assert keys(snapshot.inbox_uncertain(["g"], 1)) == [2]


def test_messages_are_found_by_key_and_by_identity(shard: ShardStore) -> None:
    same = {"message_id": "m", "channel": "orders", "tenant_id": "acme"}
    rows = [inbox(1, **same), inbox(2, **{**same, "channel": "other"}), inbox(3, **{**same, "tenant_id": "other"})]
    commit(shard, {t.INBOX: rows})
    with reading(shard) as snapshot:
        assert snapshot.inbox_rows([1, 99]) == [rows[0]]
        assert snapshot.inbox_with_ids("acme", "orders", ["m", "x"]) == [rows[0]]


def test_content_and_history_come_with_the_key(shard: ShardStore) -> None:
    contents = [InboxContentRow(key, "{}", bytes(range(256)) * key) for key in range(3)]
    lines = [InboxAttemptRow(key, number, 1, "attempt", "", "", "", "?", "!") for key in (1, 2) for number in (1, 2)]
    commit(shard, {t.INBOX_CONTENT: contents, t.INBOX_ATTEMPT: lines})
    with reading(shard) as snapshot:
        assert sorted(snapshot.inbox_contents([0, 2, 9])) == [contents[0], contents[2]]
        assert sorted(snapshot.inbox_attempts([2])) == lines[2:]


def test_cleanup_finds_what_has_expired_and_what_is_over(shard: ShardStore) -> None:
    open_ones = [inbox(1, expires_at=20), parked(2, expires_at=10), inbox(3, expires_at=30), inbox(4)]
    uncertain = inbox(5, state="uncertain", expires_at=1)
    over = [ended(6, 40), ended(7, 30)]
    commit(shard, {t.INBOX: [*open_ones, uncertain, *over]})
    with reading(shard) as snapshot:
        assert [row.key for row in snapshot.inbox_expired(20, 9)] == [2, 1]
        assert [row.key for row in snapshot.inbox_expired(LARGEST, 1)] == [2]
        assert [row.key for row in snapshot.inbox_over(40, 9)] == [7]
        assert [row.key for row in snapshot.inbox_over(41, 9)] == [7, 6]


def test_groups_with_somebody_in_line_are_walked_in_order(shard: ShardStore) -> None:
    rows = [inbox(1, "b"), inbox(2, "b"), inbox(3, "a", target="camunda"), inbox(4, "c", target=""), parked(5, "p")]
    commit(shard, {t.INBOX: [row._replace(target="") if row.key < 3 else row for row in rows]})
    with reading(shard) as snapshot:
        assert snapshot.inbox_groups_in_line("", 2) == [("a", "camunda"), ("b", "")]
        assert snapshot.inbox_groups_in_line("b", 9) == [("c", "")]


def test_states_are_counted(shard: ShardStore) -> None:
    commit(shard, {t.INBOX: [inbox(1), inbox(2), parked(3)]})
    with reading(shard) as snapshot:
        assert snapshot.inbox_states() == {"parked": 1, "waiting": 2}


def test_clock_of_a_store_goes_forward(store: Store) -> None:
    first = store.catalog.now()
    assert 0 <= store.catalog.now() - first < 60_000_000
    assert first > 1_500_000_000_000_000


@pytest.mark.parametrize("table", [t.INBOX, t.INBOX_ATTEMPT], ids=lambda table: table.name)
def test_lists_page_by_key(store: Store, table: t.Table) -> None:
    lines = [InboxAttemptRow(key, number, 1, "pause", "me", "", "", "", "") for key in range(4) for number in (1, 2)]
    rows = [inbox(key) for key in range(8)] if table is t.INBOX else lines
    for index in range(2):
        commit(store.shard(index), {table: rows[index::2]})
    first = list(store.rows(table, {}, None, 3))
    rest = list(store.rows(table, {}, tuple(getattr(first[-1], column) for column in table.key), 9))
    assert [*first, *rest] == rows

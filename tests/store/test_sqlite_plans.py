"""SQLite: how each read is carried out. None walks a large table, however little it finds."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from conjoin.store import tables as t
from conjoin.store.port import Meets, RowOrder
from conjoin.store.sqlite.files import DIALECT
from tests.store.sqlite_place import make

LOOKED_INTO_WHOLE = {"head", "received", "receivers", "inbox_states", "set_aside_count"}
"""One row, a row for each other shard, and the reads that say they are slow."""
SORTED = {"messages", "signal_instances"}
"""What is found of many keys is put in order once; what is found of one comes in order."""

EXPIRED = Meets((("=", "expired"), ("<>", "correlated")))
ACTIVE = Meets((("=", "active"), ("<>", "completed")))


def steps(folder: Path, statement: str) -> list[str]:
    make(folder)
    with closing(sqlite3.connect(folder / "shard-00.db")) as connection:
        plan = connection.execute(f"explain query plan {statement}", ["[]"] * statement.count("?")).fetchall()
    return [step[3] for step in plan]


@pytest.mark.parametrize("name", sorted(set(DIALECT.statements()) - LOOKED_INTO_WHOLE - {"move_head"}))
def test_no_read_of_a_snapshot_walks_a_table(folder: Path, name: str) -> None:
    found = steps(folder, DIALECT.statements()[name])
    walked = [step for step in found if step.startswith("SCAN")]
    assert [step for step in walked if not step.startswith(("SCAN many", "SCAN CONSTANT ROW"))] == []
    assert name in SORTED or not any("TEMP B-TREE" in step for step in found), found


def test_a_message_id_is_looked_up_however_many_messages_its_key_has(folder: Path) -> None:
    [step] = steps(folder, DIALECT.statements()["messages_with_id"])
    assert step.endswith("(correlation_key=? AND tenant_id=? AND name=? AND message_id=?)")


@pytest.mark.parametrize("kind", ["idle", "busy", "kept"])
def test_a_page_of_a_crowd_is_read_on_from_where_the_last_one_ended(folder: Path, kind: str) -> None:
    [step] = steps(folder, DIALECT.statements()[f"crowd_{kind}"])
    assert (
        step == f"SEARCH t USING INDEX subscription_{kind} (correlation_key=? AND tenant_id=? AND crowd>? AND crowd<?)"
    )


def test_messages_with_a_business_id_are_read_on_from_where_the_last_page_ended(folder: Path) -> None:
    [step] = steps(folder, DIALECT.statements()["messages_with_business_id"])
    assert step.endswith("(business_id=? AND tenant_id=? AND key>?)")


@pytest.mark.parametrize("table", t.STATE, ids=lambda table: table.name)
def test_the_next_page_of_a_list_begins_where_the_last_one_ended(folder: Path, table: t.Table) -> None:
    after = tuple("" for _ in table.key)
    [step] = steps(folder, DIALECT.list_rows(table, {}, after, 10)[0])
    assert step.startswith("SEARCH")
    assert ">" in step


def test_a_list_of_some_keys_looks_them_up(folder: Path) -> None:
    first, *_ = steps(folder, DIALECT.list_rows(t.MESSAGE, {"key": (1, 2)}, None, 2)[0])
    assert first == "SEARCH message USING INTEGER PRIMARY KEY (rowid=?)"


@pytest.mark.parametrize(
    ("table", "where", "index"),
    [
        (t.MESSAGE, {"verdict": EXPIRED, "name": "n"}, "message_verdict (verdict=? AND"),
        (t.MESSAGE, {"verdict": EXPIRED, "reason": "r"}, "message_reason (reason=? AND"),
        (t.INSTANCE, {"state": ACTIVE, "process_id": "p"}, "instance_state (state=? AND"),
    ],
)
def test_few_of_very_many_are_found_by_an_index_in_the_order_of_their_keys(
    folder: Path, table: t.Table, where: dict[str, object], index: str
) -> None:
    keys = Meets(((">=", 1), ("<", 2)))
    [step] = steps(folder, DIALECT.list_rows(table, {**where, "key": keys}, None, 10, RowOrder(backward=True))[0])
    assert step.startswith(f"SEARCH {table.name} USING INDEX {index}")
    assert step.endswith("key>? AND key<?)")


@pytest.mark.parametrize(
    ("where", "found_by"),
    [
        ({"correlation_key": "k"}, "INDEX message_key (<expr>=? AND <expr>=? AND key>? AND key<?)"),
        ({"name": "n", "correlation_key": "k", "verdict": EXPIRED}, "INDEX message_key (<expr>=? AND <expr>=? AND"),
        ({"name": "n"}, "INTEGER PRIMARY KEY (rowid>? AND rowid<?)"),
    ],
)
@pytest.mark.parametrize("backward", [False, True])
def test_messages_are_looked_up_part_by_part_in_the_order_of_their_keys(
    folder: Path, where: dict[str, object], found_by: str, backward: bool
) -> None:
    keys = Meets(((">=", 1), ("<", 2)))
    statement, _ = DIALECT.list_rows(t.MESSAGE, {**where, "key": keys}, None, 10, RowOrder(backward=backward))
    parts, messages = steps(folder, statement)
    assert parts == "SEARCH message_part USING PRIMARY KEY (name_start=? AND part_number>? AND part_number<?)"
    assert messages.startswith(f"SEARCH message USING {found_by}")

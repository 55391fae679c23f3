"""Every store: one that an older Conjoin made is brought to the newest schema when it is opened, with all its rows."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, get_type_hints

import pytest

from conjoin.store import schema
from conjoin.store import tables as t
from conjoin.store.port import Head, ShardStore, Store
from conjoin.store.postgres import writes as postgres_writes
from conjoin.store.rows import EvidenceRow, ScopeRow
from conjoin.store.sql.message_parts import KnownParts
from conjoin.store.sqlite import shard as sqlite_shard
from conjoin.store.sqlite.files import put_statement
from tests.store.conftest import Place
from tests.store.samples import ONE_OF_EACH, commit, instance, message, reading

VERSIONS = range(1, schema.VERSION)
AT_FIRST = {table: rows for table, rows in ONE_OF_EACH.items() if table not in (*t.KEPT, t.SET_ASIDE, t.INBOX_GROUP)}
"""The tables that there were from the beginning."""


def _then(table: t.Table, columns: int) -> t.Table:
    """With so many columns."""
    fields = list(get_type_hints(table.row).items())[:columns]
    name = table.name.removesuffix("_apart")
    return t.Table(name, NamedTuple(f"{table.name}_then", fields), table.key)  # type: ignore[misc]


EARLIER = {t.APART: _then(t.APART, 13), t.INSTANCE: _then(t.INSTANCE, 15)}
"""Tables that had fewer columns before step 10."""


@pytest.fixture(params=VERSIONS)
def older(request: pytest.FixtureRequest, place: Place, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Made when there were so many steps, and opened now."""
    earlier = EARLIER if request.param < 10 else {}
    with monkeypatch.context() as then:
        then.setattr(schema, "VERSION", request.param)
        then.setattr(t, "SHARD", tuple(earlier.get(table, table) for table in AT_FIRST))
        then.setattr(t, "VIEWS", ())
        if earlier:
            then.setattr(t, "DERIVED", ())
            then.setattr(KnownParts, "missing", lambda parts, messages: [])
        for before in earlier.values():
            then.setitem(sqlite_shard._PUT, before, put_statement(before))
        for table in t.SHARD:
            # Without looking for a row with the same key: its index had other words.
            then.setitem(postgres_writes._PUT, table, postgres_writes._forms(postgres_writes._insert, table))
        made = place.create()
        commit(made.shard(0), dict(_earlier_rows(earlier)))
    return place.open()


def _earlier_rows(earlier: Mapping[t.Table, t.Table]) -> Iterator[tuple[t.Table, list[Any]]]:
    for table, rows in AT_FIRST.items():
        before = earlier.get(table, table)
        yield before, [row[: len(before.columns)] for row in rows] if before is not table else rows


def head(shard: ShardStore) -> Head:
    with reading(shard) as snapshot:
        return snapshot.head


def test_older_store_is_of_the_newest_schema_when_it_is_open(older: Store) -> None:
    assert older.facts.schema == schema.VERSION


def test_older_store_keeps_its_rows_and_where_it_was(older: Store) -> None:
    assert head(older.shard(0)).version == 1
    for table, rows in AT_FIRST.items():
        assert list(older.rows(table, {}, None, 9)) == rows


def test_older_store_is_read_and_written_in_the_ways_of_today(older: Store) -> None:
    commit(older.shard(0), {t.MESSAGE: [message(2, business_id="b-1")]})
    with reading(older.shard(0)) as snapshot:
        assert snapshot.messages_with_business_id("acme", "b-1", 0, 9) == [message(2, business_id="b-1")]


def test_call_activities_of_an_older_store_are_found_by_their_keys(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    outer, inner = (f'[{key},"call",0,null,null,null,null,null,null,1000]' for key in (900, 901))
    scope = f'[300,"scope",0,null,[1,[{inner}]]]'
    body = f'[100,"order",0,{{"n":[500]}},[3,[[110,"wait",0],{outer},{scope}],0]]'
    ended = instance(200, body=f'[200,"order",0,null,[1,[{outer.replace("900", "999")}]]]', state="completed")
    with monkeypatch.context() as then:
        then.setattr(schema, "VERSION", 6)
        instances = EARLIER[t.INSTANCE]
        then.setattr(t, "SHARD", tuple(EARLIER.get(table, table) for table in AT_FIRST))
        then.setattr(t, "VIEWS", ())
        then.setattr(t, "DERIVED", ())
        then.setattr(KnownParts, "missing", lambda parts, messages: [])
        then.setitem(sqlite_shard._PUT, instances, put_statement(instances))
        then.setitem(postgres_writes._PUT, instances, postgres_writes._forms(postgres_writes._insert, instances))
        rows = {instances: [it[:15] for it in (instance(100, body=body), ended)], t.SCOPE: [ScopeRow(300, 100)]}
        commit(place.create().shard(0), rows)
    with reading(place.open().shard(0)) as snapshot:
        found = snapshot.instances_of(t.SCOPE, [100, 110, 300, 900, 901, 999, 500])
    assert found == {300: 100, 900: 100, 901: 100}


def test_messages_of_an_older_store_are_found_by_their_names_and_keys(older: Store) -> None:
    [old] = AT_FIRST[t.MESSAGE]
    commit(older.shard(0), {t.MESSAGE: [message(10**6, name=old.name, correlation_key=old.correlation_key)]})
    for where in ({"name": old.name}, {"correlation_key": old.correlation_key}):
        assert [row.key for row in older.rows(t.MESSAGE, where, None, 9)] == [old.key, 10**6]


def test_evidence_is_kept_for_messages_of_an_older_store(older: Store) -> None:
    [old] = AT_FIRST[t.MESSAGE]
    older.shard(0).reader().keep_evidence([EvidenceRow(old.key, 10, "[]", 0, 0)])
    assert list(older.rows(t.EVIDENCE, {}, None, 9)) == [EvidenceRow(old.key, 10, "[]", 0, 0)]

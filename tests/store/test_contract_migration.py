"""Every store: one that an older Conjoin made is brought to the newest schema when it is opened, with all its rows."""

import pytest

from conjoin.store import schema
from conjoin.store import tables as t
from conjoin.store.port import Head, ShardStore, Store
from tests.store.conftest import Place
from tests.store.samples import ONE_OF_EACH, commit, message, reading

VERSIONS = range(1, schema.VERSION)
AT_FIRST = {table: rows for table, rows in ONE_OF_EACH.items() if table not in (*t.KEPT, t.INBOX_GROUP)}
"""The tables that there were from the beginning."""


@pytest.fixture(params=VERSIONS)
def older(request: pytest.FixtureRequest, place: Place, monkeypatch: pytest.MonkeyPatch) -> Store:
    """Made when there were so many steps, and opened now."""
    with monkeypatch.context() as then:
        then.setattr(schema, "VERSION", request.param)
        then.setattr(t, "SHARD", tuple(AT_FIRST))
        made = place.create()
        commit(made.shard(0), AT_FIRST)
    return place.open()


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

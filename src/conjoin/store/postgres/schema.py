"""The schemas of a store on PostgreSQL: `catalog`, one `shard_NN` a shard, and `conjoin` with views over all shards.

Each is made or brought to the newest version in a transaction of its own, the catalog last: while its version is
behind, the rest may be anything between the old and the new, and the next one who opens the store goes on there.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from conjoin.errors import StoreExists, StoreMissing, StoreTooNew
from conjoin.store import schema
from conjoin.store import tables as t
from conjoin.store.catalog import CATALOG_QUERIES
from conjoin.store.port import Facts
from conjoin.store.postgres.connections import Connection, Connections
from conjoin.store.postgres.dialect import DIALECT

CATALOG = "catalog"
VIEWS = "conjoin"
_TURN = 0x636F6E6A6F696E
"""The number of the advisory lock: of two who make or migrate a store, one waits."""
_FACTS = CATALOG_QUERIES["facts"]
_WRITE_FACTS = CATALOG_QUERIES["write_facts"].format(p=DIALECT.p)
_FIRST_VERSION = CATALOG_QUERIES["first_version"]
_NEW_SHARD = "insert into shard select 0, 1, 0, 0 where not exists (select from shard)"


def schema_name(shard: int) -> str:
    return f"shard_{shard:02}"


def make_store(connections: Connections, facts: Facts) -> None:
    """What a crash left incomplete is finished. The facts are written last: without them there is no store."""
    with _turn(connections) as connection:
        if _schema_version(connection, CATALOG) and connection.execute(_FACTS).fetchall():
            raise StoreExists(f"{connections.place} holds a store already: open it, or name another database")
        for name in map(schema_name, range(facts.shards)):
            _take_steps(connection, name, "shard")
            with connection.transaction():
                connection.execute(f"set local search_path to {name}")
                connection.execute(_NEW_SHARD)
                if connection.execute("select version from shard").fetchall()[0][0]:
                    why = f"{name} holds commits, but its catalog is gone: restore the store from a backup"
                    raise StoreExists(f"{connections.place}: {why}")
        _make_views(connection, facts.shards)
        _take_steps(connection, CATALOG, "catalog")
        with connection.transaction():
            connection.execute(_WRITE_FACTS, (facts.shards, facts.profile, int(facts.unique_business_ids)))
            connection.execute(_FIRST_VERSION)


def migrate_store(connections: Connections) -> None:
    """Bring an older store to the newest schema. Raises StoreMissing where there is none."""
    with connections.borrow() as connection:
        taken = _schema_version(connection, CATALOG)
    if taken > schema.VERSION:
        raise StoreTooNew(connections.place, taken, schema.VERSION)
    if taken == schema.VERSION:
        return
    if taken == 0:
        raise missing(connections)
    with _turn(connections) as connection:
        shards = connection.execute(_FACTS).fetchall()[0][0]
        with connection.transaction():
            for table in (*t.SHARD, *t.DERIVED, *t.VIEWS):
                connection.execute(f"drop view if exists {VIEWS}.{table.name}")
        for index in range(shards):
            _take_steps(connection, schema_name(index), "shard")
        _make_views(connection, shards)
        _take_steps(connection, CATALOG, "catalog")


def missing(connections: Connections) -> StoreMissing:
    place = connections.place
    return StoreMissing(f"there is no store in {place}: make one with conjoin store init --store {place}")


@contextmanager
def _turn(connections: Connections) -> Iterator[Connection]:
    with connections.borrow() as connection:
        connection.execute("select pg_advisory_lock(%s)", (_TURN,))
        yield connection
        connection.execute("select pg_advisory_unlock(%s)", (_TURN,))


def _schema_version(connection: Connection, name: str) -> int:
    """How many steps it has taken; none where it is not there."""
    there = connection.execute("select to_regclass(%s) is not null", (f"{name}.schema_version",)).fetchall()[0][0]
    return int(connection.execute(f"select version from {name}.schema_version").fetchall()[0][0]) if there else 0


def _take_steps(connection: Connection, name: str, part: str) -> None:
    taken = _schema_version(connection, name)
    with connection.transaction():
        if not taken:
            connection.execute(f"create schema if not exists {name}")
            connection.execute(f"create table {name}.schema_version (version bigint not null)")
            connection.execute(f"insert into {name}.schema_version values (0)")
        connection.execute(f"set local search_path to {name}")
        for number, statements in schema.steps(part, taken, DIALECT.schema):
            for statement in statements:
                connection.execute(statement)
            connection.execute("update schema_version set version = %s", (number,))


def _make_views(connection: Connection, shards: int) -> None:
    with connection.transaction():
        connection.execute(f"create schema if not exists {VIEWS}")
        for table in (*t.SHARD, *t.DERIVED, *t.VIEWS):
            columns = ", ".join(table.columns)
            parts = (
                f"select {index} as shard, {columns} from {schema_name(index)}.{table.name}" for index in range(shards)
            )
            connection.execute(f"create or replace view {VIEWS}.{table.name} as {' union all '.join(parts)}")

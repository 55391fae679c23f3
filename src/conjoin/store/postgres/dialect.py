"""The SQL of PostgreSQL: its dialect, and the statements of a snapshot by name.

A plan is made once, perhaps while the tables are still empty, and must be right when they are large. So each value of
a parameter is looked up by a subquery of its own (`offset 0` keeps it one), and no large table can come first.
Subscriptions apart and instances come with their place as the last column: see `writes.py`.

A row of an index has room for about 2,700 bytes, and a key or a name may have 131,072. So texts of clients stand in
indexes as `short_text`, a function of the schema: a text itself up to 100 characters, and else its beginning and its
digest. An index is used where a statement compares in its words, so every statement that looks such a text up goes
through `asked_short`.
"""

import re

from conjoin.store import tables as t
from conjoin.store.sql.dialect import SqlDialect, pieces
from conjoin.store.sql.statements import ON_KEYS, OWNED, WAITING_ON
from conjoin.store.tables import Table

SHORT_TEXT = "short_text"
COLUMNS = frozenset(
    {
        *("tenant_id", "correlation_key", "name", "message_id", "business_id", "process_id", "type"),
        *("wait_on", "channel", "group_key", "source", "part"),
    }
)
"""In no index does one of these stand as it is."""
_COMPARED = re.compile(rf"((?:\b\w\.)?\b(?:{'|'.join(sorted(COLUMNS))})) ([=>]) (%s|many\.value|gone\.\w+)")
# A row that is written again stays on its page, and no index is touched.
_ROOM = "with (fillfactor = 85)"


def short(column: str) -> str:
    """A column as it stands in an index."""
    return f"{SHORT_TEXT}({column})" if column.rpartition(".")[2] in COLUMNS else column


def asked_short(statement: str) -> str:
    """The statement with each such column compared by its short text."""
    return _COMPARED.sub(rf"{SHORT_TEXT}(\1) \2 {SHORT_TEXT}(\3)", statement)


def _like(pattern: str) -> str:
    meant = {"*": "%", "?": "_"}
    return "".join(meant[it] if stands else f"\\{it}" if it in "%_\\" else it for it, stands in pieces(pattern))


def _closed(place: int, type_: type) -> str:
    """A value of a closed subscription that stands in the row of its instance."""
    return f'(closed.value ->> {place}) collate "C"' if type_ is str else f"(closed.value ->> {place})::bigint"


DIALECT = SqlDialect(
    texts="unnest(%s::text[]) as many(value)",
    numbers="unnest(%s::bigint[]) as many(value)",
    p="%s",
    find="strpos",
    size="octet_length",
    # Bytes in their order, as SQLite and Python compare them; and faster than the order of a language.
    schema={
        **{"int": "bigint", "text": 'text collate "C"', "blob": "bytea", "clustered": _ROOM, "room": _ROOM},
        "database": "postgresql",
        "children_of_said": "json_array_elements(inside.said::json -> 4 -> 1) as child(value)",
        "child": 'child.value::text collate "C"',
        "key_of_said": "(said::json ->> 0)::bigint",
        "called_by_said": "(said::json ->> 9)::bigint",
        "empty": "''::text collate \"C\"",
        "short_tenant_id": f"{SHORT_TEXT}(tenant_id)",
        "short_wait_on": f"{SHORT_TEXT}(wait_on)",
        "closed_waits": "json_array_elements(i.closed_waits::json) as closed(value)",
        **{f"closed_{name}": _closed(place, type_) for place, (name, type_) in enumerate(t.CLOSED_WAIT.items())},
    },
    lookup="cross join lateral (select t.* from {table} as t where {condition} offset 0) as t",
    first="cross join lateral (select t.* from {table} as t where {condition}) as t",
    like="like",
    pattern=_like,
    same_shard=("message_part.shard = message.shard",),
    short=short,
    asked_short=asked_short,
)
_ON_KEYS = ON_KEYS.format(p=DIALECT.p)


def _columns(table: Table) -> str:
    return ", ".join(f"t.{column}" for column in table.columns)


def _each(source: str, table: Table, condition: str) -> str:
    rows = f"select t.*, t.ctid::text as place from {table.name} as t where {condition}"
    return f" from {source} cross join lateral ({rows}) as t"


def _around(table: Table) -> str:
    """The instances of jobs, or of incidents."""
    owner = f"lateral (select o.instance_key from {table.name} as o where o.key = many.value offset 0) as o"
    return _each(f"{DIALECT.numbers} cross join {owner}", t.INSTANCE, "t.key = o.instance_key offset 0")


def _with_outermost(found: str) -> str:
    """Most instances were called by no other: they are read once, and only the rest is looked for."""
    columns = f"select {_columns(t.INSTANCE)}, t.place"
    around = _each("tree", t.INSTANCE, "t.key = tree.key and t.state = 'active' offset 0")
    return (
        f"with found as materialized ({columns}{found}), tree(key) as"
        " (select distinct tree_key from found where tree_key not in (select key from found))"
        f" {columns} from found as t where t.state = 'active' union all {columns}{around}"
    )


SQL = DIALECT.statements() | {
    name: DIALECT.asked_short(statement)
    for name, statement in {
        "subscriptions": f"select {_columns(t.APART)}, t.place"
        + _each(DIALECT.texts, t.APART, f"{_ON_KEYS} order by t.key limit %s"),
        # The tenant is given twice, as SQLite asks for it.
        "waiting_apart_on": f"select {_columns(t.APART)}"
        + _each(DIALECT.texts, t.APART, f"{_ON_KEYS} and t.tenant_id = %s order by t.key limit %s"),
        "waiting": f"select {_columns(t.INSTANCE)}, t.place"
        + _each(DIALECT.texts, t.INSTANCE, f"{WAITING_ON.format(p=DIALECT.p)} offset 0"),
        "messages": f"select {_columns(t.MESSAGE)}"
        + _each(DIALECT.texts, t.MESSAGE, f"{_ON_KEYS} and t.live = 1 order by t.key limit %s")
        + " order by t.key",
        "instances": _with_outermost(_each(DIALECT.numbers, t.INSTANCE, "t.key = many.value offset 0")),
        **{f"instances_with_{table.name}": _with_outermost(_around(table)) for table in OWNED},
    }.items()
}

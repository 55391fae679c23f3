"""The statements of a snapshot that look many keys up, in words of PostgreSQL's own.

A plan is made once, perhaps while the tables are still empty, and must be right when they are large. So each value of
the parameter is looked up by a subquery of its own (`offset 0` keeps it one), and no large table can come first.
Subscriptions and instances come with their place as the last column: see `row_places.py`.
"""

from conjoin.store import tables as t
from conjoin.store.postgres.connections import DIALECT
from conjoin.store.sql.inbox import lateral_inbox_reads
from conjoin.store.tables import Table

_ON_KEYS = "t.correlation_key = many.value and t.tenant_id = %s"


def _columns(table: Table) -> str:
    return ", ".join(f"t.{column}" for column in table.columns)


def _each(source: str, table: Table, condition: str) -> str:
    """Source and table of a `select`: for each row of the one, those of the other that belong to it."""
    limited = condition if " limit " in condition else f"{condition} offset 0"
    rows = f"select t.*, t.ctid::text as place from {table.name} as t where {limited}"
    return f" from {source} cross join lateral ({rows}) as t"


def _with_outermost(found: str) -> str:
    """Most instances were called by no other: they are read once, and only the rest is looked for."""
    columns = f"select {_columns(t.INSTANCE)}, t.place"
    around = _each("tree", t.INSTANCE, "t.key = tree.key and t.state = 'active'")
    return (
        f"with found as materialized ({columns}{found}), tree(key) as"
        " (select distinct tree_key from found where tree_key not in (select key from found))"
        f" {columns} from found as t where t.state = 'active' union all {columns}{around}"
    )


SQL = DIALECT.statements() | {
    "subscriptions": f"select {_columns(t.SUBSCRIPTION)}, t.place"
    + _each(DIALECT.texts, t.SUBSCRIPTION, f"{_ON_KEYS} order by t.key limit %s"),
    "subscriptions_by_key": f"select {_columns(t.SUBSCRIPTION)}"
    + _each(DIALECT.numbers, t.SUBSCRIPTION, "t.key = many.value and t.correlation_key = %s and t.tenant_id = %s"),
    "messages": f"select {_columns(t.MESSAGE)}"
    + _each(DIALECT.texts, t.MESSAGE, f"{_ON_KEYS} and t.live = 1 order by t.key limit %s")
    + " order by t.key",
    "messages_by_key": f"select {_columns(t.MESSAGE)}" + _each(DIALECT.numbers, t.MESSAGE, "t.key = many.value"),
    **{
        name: f"select {_columns(table)}" + _each(DIALECT.numbers, table, "t.key = many.value")
        for name, table in (("timers", t.TIMER), ("jobs", t.JOB), ("set_aside", t.SET_ASIDE))
    },
    "id_holders": "select t.business_id, t.process_id, t.key"
    + _each(
        DIALECT.texts,
        t.INSTANCE,
        "t.business_id = many.value and t.business_id <> '' and t.state = 'active' and t.tenant_id = %s"
        " and t.parent_key = 0",
    ),
    "locks": f"select {_columns(t.LOCK)}" + _each(DIALECT.texts, t.LOCK, _ON_KEYS),
    "instances": _with_outermost(_each(DIALECT.numbers, t.INSTANCE, "t.key = many.value")),
}
SQL["mentioning_of"] = (
    "select t.key"
    + _each(DIALECT.numbers, t.INSTANCE, "t.key = many.value and t.state = 'active'")
    + " where strpos(t.body, %s) > 0"
)
SQL |= {
    f"instances_of_{table.name}": "select t.key, t.instance_key" + _each(DIALECT.numbers, table, "t.key = many.value")
    for table in (t.JOB, t.TIMER, t.INCIDENT, t.SCOPE)
}
SQL |= lateral_inbox_reads(DIALECT.texts, DIALECT.numbers, DIALECT.p)
SQL = {name: DIALECT.asked_short(statement) for name, statement in SQL.items()}

"""Scans: the statement that reads a whole table of a shard, for those who want everything (a Spark task, an export).

Only the asked columns are read, of rows that meet all conditions. Names are looked up among those that there are, and
values are parameters: nothing that was asked becomes text of the statement unseen.
"""

from collections.abc import Sequence
from typing import Any

from conjoin.store import tables as t
from conjoin.store.port import Condition
from conjoin.store.sql.snapshot import SqlDialect

_TABLES = {table.name: table for table in t.SHARD}
_COMPARISONS = {operator: operator for operator in ("=", "<>", "<", "<=", ">", ">=")}
_WITH_NOTHING = {"=": "is null", "<>": "is not null"}


def scan_statement(
    dialect: SqlDialect, name: str, columns: Sequence[str], where: Sequence[Condition]
) -> tuple[str, list[Any]]:
    """Its text and its parameters, of which a list is the table `many`. Raises KeyError for names that are not ours."""
    table = _TABLES[name]
    types = dict(zip(table.columns, table.types, strict=True))
    for column in (*columns, *(condition[0] for condition in where)):
        if column not in types:
            raise KeyError(f"{name}.{column}")
    tests = [_test(dialect, condition, types[condition[0]]) for condition in where]
    text = f"select {', '.join(columns)} from {table.name}"
    text += f" where {' and '.join(tests)}" if tests else ""
    return text, [value for _, _, value in where if value is not None]


def _test(dialect: SqlDialect, condition: Condition, type_: type) -> str:
    column, operator, value = condition
    if value is None:
        return f"{column} {_WITH_NOTHING[operator]}"
    if operator == "in":
        return f"{column} in (select many.value from {dialect.numbers if type_ is int else dialect.texts})"
    return f"{column} {_COMPARISONS[operator]} {dialect.p}"

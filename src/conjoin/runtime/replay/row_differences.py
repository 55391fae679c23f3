"""Rows that should be there against rows that are: the first difference, in words.

Near misses are compared without their order, which follows from the order in which things were loaded: they explain a
verdict and never decide one.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from conjoin.kernel.verdicts.near_misses import MOST
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.upkeep.copying import Tally
from conjoin.store.tables import Table

_JSON = ("body", "command", "record", "variables")
_NOT_FROM_LOG = ("crowd",)
"""Where a row is found faster: it says nothing that the log does."""
_LONGEST = 160


class Compared(NamedTuple):
    """`removed` rows are not there any more, and need not be."""

    difference: str | None
    removed: int


def compare(
    table: Table,
    expected: Iterable[Sequence[Any]],
    found: Iterable[Any],
    may_be_gone: Callable[[Any], bool],
    tally: Tally,
) -> Compared:
    """What is expected is one or more rows with the same key: any of them will do."""
    wanted = {key_of(table, rows[0]): rows for rows in expected}
    for row in tally.counting(table.name, found):
        rows = wanted.pop(key_of(table, row), None)
        if rows is None:
            return Compared(f"{_name(table, row)} is in the store, and nothing in the log makes it", 0)
        if not any(row == other or _is_same(table, row, other) for other in rows):
            return Compared(f"{_name(table, row)}: {_said(table, row, rows[0])}", 0)
    for rows in wanted.values():
        if not any(map(may_be_gone, rows)):
            return Compared(f"{_name(table, rows[0])} is not in the store, and the log makes it", 0)
    return Compared(None, len(wanted))


def key_of(table: Table, row: Any) -> tuple[Any, ...]:
    return tuple(getattr(row, column) for column in table.key)


def _is_same(table: Table, row: Any, other: Any) -> bool:
    return all(
        mine == theirs
        or column in _NOT_FROM_LOG
        or (column in _JSON and _content(column, mine) == _content(column, theirs))
        for column, mine, theirs in zip(table.columns, row, other, strict=True)
    )


def _content(column: str, text: str) -> Any:
    return without_order(read_json(text)) if column == "record" else read_json(text)


def without_order(said: Any) -> Any:
    """An event or a record, its near misses sorted. Where there are too many for all of them, they say nothing."""
    if isinstance(said, dict):
        return {name: without_order(value) for name, value in said.items()}
    if not isinstance(said, list):
        return said
    if said and all(isinstance(item, dict) and "kind" in item for item in said):
        return sorted(map(json_text, said)) if len(said) < MOST else "many"
    return list(map(without_order, said))


def _said(table: Table, row: Any, other: Any) -> str:
    for column, mine, theirs in zip(table.columns, row, other, strict=True):
        if mine != theirs:
            return f"{column} is {_cut(mine)} in the store, and {_cut(theirs)} when the log is replayed"
    return "the same"


def _cut(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _name(table: Table, row: Any) -> str:
    return f"{table.name} {' / '.join(str(part) for part in key_of(table, row))}"

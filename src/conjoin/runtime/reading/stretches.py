"""Rows of a table by key, in stretches of keys that take a moment each, however few rows of them meet the conditions.

A statement that finds little would look at all there is before it answers. A stretch says how far everything was looked
at, so a list whose time is up can stop there and go on later. The key of the table must be `key` alone.
"""

from collections.abc import Iterator, Mapping, Sequence
from time import monotonic
from typing import Any, NamedTuple

from conjoin.store.port import Meets, RowOrder, Store
from conjoin.store.tables import Table

_STEP_S = 0.04
"""A stretch takes no longer than about this."""
_FIRST, _LONGEST = 1 << 14, 1 << 40
_LARGEST_KEY = 2**63 - 1
FIRST_AT_ONCE = 20
"""Rows. Nobody knows before how large they are: a message or an instance may have megabytes."""
_BYTES_AT_ONCE = 8 * 1024 * 1024


class Stretch(NamedTuple):
    rows: list[Any]
    looked_to: int
    """Everything up to this key was looked at, and it too."""


def can_be_walked(table: Table, where: Mapping[str, Any], order: RowOrder) -> bool:
    """Otherwise one statement is as good: the store finds the rows without looking at others, or has to sort them."""
    is_filtered = any(not isinstance(value, Meets) or value.tests for value in where.values())
    return table.key == ("key",) and not order.columns and is_filtered and "key" not in where


def stretches(
    store: Store, table: Table, where: Mapping[str, Any], after: int | None, at_once: int, backward: bool = False
) -> Iterator[Stretch]:
    """All rows that meet the conditions, so many at a time at most, until there are no more."""
    most, at_once = at_once, min(at_once, FIRST_AT_ONCE)
    stretch = _FIRST
    place = (_LARGEST_KEY if backward else 0) if after is None else after
    while (edge := _next_key(store, table, place, backward)) is not None:
        began = monotonic()
        end = max(edge - stretch, 0) if backward else min(edge + stretch, _LARGEST_KEY)
        keys = Meets(((">=", end), ("<=", edge))) if backward else Meets(((">=", edge), ("<=", end)))
        rows = list(store.rows(table, {**where, "key": keys}, None, at_once, RowOrder(backward=backward)))
        is_full = len(rows) == at_once
        place = rows[-1].key if is_full else end
        if not is_full:
            stretch = _next_length(stretch, monotonic() - began)
        at_once = next_at_once(rows, at_once, most)
        yield Stretch(rows, place)


def next_at_once(rows: Sequence[Any], at_once: int, most: int) -> int:
    """How many rows to read next: as many as are no more than some megabytes, if they are like these."""
    size = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes)))
    fitting = _BYTES_AT_ONCE * max(len(rows), 1) // max(size, 1)
    return max(min(fitting, 4 * at_once, most), 1)


def _next_key(store: Store, table: Table, place: int, backward: bool) -> int | None:
    """Of whoever's row it is: a caller who may see few rows does not look for the next of them here."""
    whole: Store = getattr(store, "whole", store)
    found = whole.rows(table, {}, (place,), 1, RowOrder(backward=backward))
    return next((int(row.key) for row in found), None)


def _next_length(stretch: int, took_s: float) -> int:
    if took_s < _STEP_S / 4:
        # An index leads straight to what there is: then a few steps are enough for all of it.
        return min(stretch * (16 if took_s < _STEP_S / 8 else 4), _LONGEST)
    return max(stretch // 2, 1) if took_s > _STEP_S else stretch

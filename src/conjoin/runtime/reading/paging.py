"""Paging: the one engine of all lists and searches. It reads rows in an order, and hands them on as steps.

A scan reads little at a time, as much as takes a moment however few rows meet the conditions, and each step says how
far everything was looked at. So one who takes the steps may stop at any of them (the page is full, the time is up,
the client has gone), and a cursor continues there. Nothing is read before it is needed.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from heapq import merge
from time import monotonic
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.kernel.storable import LARGEST_INT64, is_text
from conjoin.runtime.codec.json_text import NOT_JSON, json_bytes, read_client_json
from conjoin.store.port import BY_KEY, Meets, RowOrder, Store
from conjoin.store.reading import current, is_late
from conjoin.store.sql.dialect import places_of
from conjoin.store.tables import Table

AT_ONCE = 500
"""Rows of one statement, at most."""
FIRST_AT_ONCE = 20
"""Rows may be large, a message or an instance has up to megabytes: the first few show it."""
_BYTES_AT_ONCE = 8 * 1024 * 1024
FIRST_RANGE, LATER_RANGE, _LONGEST_RANGE = 1 << 14, 1 << 18, 1 << 40
"""Keys. A list that is continued has not found much so far."""
_RANGE_S = 0.04
"""Reading a range of keys takes no longer than about this."""
ALL_KEYS = (0, LARGEST_INT64)
_LAST_ITEM = 2**62
_VERSION = 1

Position = tuple[Any, ...]
"""The columns by which rows are ordered, and the number of an item of the row."""


class ScanStep(NamedTuple):
    """An item of a row; or None: everything up to `position` was looked at, and it shows nothing (more)."""

    position: Position
    row: Any
    item: Any = None

    @property
    def is_mark(self) -> bool:
        """It stands before or behind all items of a row."""
        return self.position[-1] in (-1, _LAST_ITEM)


@dataclass(frozen=True, slots=True)
class Scan:
    """What is listed: rows of a table that meet conditions, in an order, and what they show."""

    store: Store
    table: Table
    where: Mapping[str, Any]
    show: Callable[[Sequence[Any]], Iterable[tuple[Any, Sequence[Any]]]]
    """Of rows those that are listed, each with its items; None stands for an item that does not meet the filter."""
    order: RowOrder = BY_KEY
    at_once: int = AT_ONCE
    shows_many: bool = False
    """A row may have several items."""
    keys: tuple[int, int] = ALL_KEYS
    """The first and the last: with others than all, they are read in ranges in any case."""
    ends_at: Callable[[Any], bool] = lambda row: False
    """No row from this one on can meet the conditions."""

    def steps(self, after: Position | None = None) -> Iterator[ScanStep]:
        for part in self._ranges(after) if self._is_in_ranges() else self._statements(after):
            if isinstance(part, ScanStep):
                yield part
            elif part:
                yield from self.steps_of(part, after)

    def steps_of(self, rows: Sequence[Any], after: Position | None) -> Iterator[ScanStep]:
        backward = self.order.backward
        for row, items in self.show(rows):
            key = order_key(self.table, row, self.order)
            numbered = list(enumerate(items))
            for number, item in numbered[::-1] if backward else numbered:
                # Rows come behind the position; of its own row some items may come before it.
                if after is None or key != after[:-1] or (number < after[-1] if backward else number > after[-1]):
                    yield ScanStep((*key, number), row, item)

    def _is_in_ranges(self) -> bool:
        """Otherwise one statement is as good: the store finds the rows without looking at others, or sorts them."""
        if self.table.key != ("key",) or self.order.columns or "key" in self.where:
            return False
        is_filtered = any(not isinstance(value, Meets) or value.tests for value in self.where.values())
        return self.keys != ALL_KEYS or (current() is not None and is_filtered)

    def _statements(self, after: Position | None) -> Iterator[ScanStep | list[Any]]:
        backward, at_once = self.order.backward, min(self.at_once, FIRST_AT_ONCE)
        key = None if after is None else after[:-1]
        # Most orders end with a whole number, the key; a client may have made up the position, so it need not be here.
        if after is not None and self._continues_inside(after) and isinstance(after[-2], int):
            key = (*after[:-2], min(after[-2] + (1 if backward else -1), LARGEST_INT64))
        while True:
            rows = list(self.store.rows(self.table, self.where, key, at_once, self.order))
            yield rows
            if len(rows) < at_once:
                return
            key = order_key(self.table, rows[-1], self.order)
            yield ScanStep((*key, -1 if backward else _LAST_ITEM), rows[-1])
            at_once = next_at_once(rows, at_once, self.at_once)

    def _ranges(self, after: Position | None) -> Iterator[ScanStep | list[Any]]:
        """Before each range the row that comes next, whether it meets the conditions or not."""
        backward, at_once = self.order.backward, min(self.at_once, FIRST_AT_ONCE)
        low, high = self.keys
        length = FIRST_RANGE if after is None else LATER_RANGE
        if after is not None:
            passed = 0 if self._continues_inside(after) else 1
            low, high = (low, min(after[0] - passed, high)) if backward else (max(after[0] + passed, low), high)
        while (row := self._next_row(low, high)) is not None:
            yield ScanStep((row.key, _LAST_ITEM if backward else -1), row)
            began, key = monotonic(), row.key
            first, last = (max(key - length, low), key) if backward else (key, min(key + length, high))
            where = {**self.where, "key": _between(first, last)}
            rows = list(self.store.rows(self.table, where, None, at_once, self.order))
            if len(rows) == at_once:
                first = last = rows[-1].key
            else:
                length = _next_length(length, monotonic() - began)
            low, high = (low, first - 1) if backward else (last + 1, high)
            at_once = next_at_once(rows, at_once, self.at_once)
            yield rows

    def _next_row(self, low: int, high: int) -> Any:
        """Anybody's: a caller who may see few rows does not look for the next of those here."""
        store: Store = getattr(self.store, "whole", self.store)
        found = store.rows(self.table, {"key": _between(low, high)}, None, 1, self.order) if low <= high else ()
        return next((row for row in found if not self.ends_at(row)), None)

    def _continues_inside(self, after: Position) -> bool:
        """Items of the row at that position are still to come."""
        if self.order.backward:
            return bool(after[-1] > 0)
        return bool(after[-1] < (_LAST_ITEM if self.shows_many else 0))


def order_key(table: Table, row: Any, order: RowOrder) -> tuple[Any, ...]:
    return tuple(getattr(row, column) for column in places_of(table, order))


def next_at_once(rows: Sequence[Any], at_once: int, most: int) -> int:
    """How many rows to read next: as many as are no more than some megabytes, if they are like these."""
    size = sum(len(value) for row in rows for value in row if isinstance(value, (str, bytes)))
    fitting = _BYTES_AT_ONCE * max(len(rows), 1) // max(size, 1)
    return max(min(fitting, 4 * at_once, most), 1)


def _next_length(length: int, took_s: float) -> int:
    if took_s < _RANGE_S / 4:
        # An index leads straight to what there is: then a few ranges are enough for all of it.
        return min(length * (16 if took_s < _RANGE_S / 8 else 4), _LONGEST_RANGE)
    return max(length // 2, 1) if took_s > _RANGE_S else length


def _between(low: int, high: int) -> Meets:
    return Meets(((">=", low), ("<=", high)))


class Taken(NamedTuple):
    found: list[ScanStep]
    """Those with an item."""
    stopped: ScanStep | None
    """Where it stopped although there may be more."""


def take(
    steps: Iterable[ScanStep],
    limit: int,
    is_over: Callable[[], bool] = is_late,
    most_looked_at: int = LARGEST_INT64,
    most_text: int = LARGEST_INT64,
) -> Taken:
    """So many items; fewer when it is over, or when it has looked at too many items, or found too many characters.

    Something is looked at in any case, so that the next page comes further.
    """
    found: list[ScanStep] = []
    looked_at = size = 0
    for number, step in enumerate(steps):
        looked_at += not step.is_mark
        if step.item is not None:
            found.append(step)
            if len(found) == limit:
                break
            if most_text < LARGEST_INT64:
                size += sum(len(value) for value in step.item.values() if isinstance(value, str))
        if looked_at >= most_looked_at or size > most_text or (step.item is None and number and is_over()):
            return Taken(found, step)
    return Taken(found, None)


class MergedScans:
    """Scans as one: each time the step of the highest rank. It remembers the step at which each of them is."""

    def __init__(
        self, scans: Sequence[Scan], after: Sequence[Position | None], rank: Callable[[ScanStep], Any]
    ) -> None:
        self.heads: list[ScanStep | None] = [None] * len(scans)
        self._rank = rank
        self._scans = [
            self._followed(index, scan.steps(it))
            for index, (scan, it) in enumerate(zip(scans, after, strict=True))
            if it != _ENDED
        ]

    def __iter__(self) -> Iterator[ScanStep]:
        return merge(*self._scans, key=self._rank, reverse=True)

    def _followed(self, index: int, steps: Iterator[ScanStep]) -> Iterator[ScanStep]:
        for step in steps:
            self.heads[index] = step
            yield step
        self.heads[index] = None

    def positions(self, backward: bool) -> list[Position]:
        """Where each continues: before its last step if that has an item, which is not shown yet."""
        return [_ENDED if it is None else _before(it, backward) for it in self.heads]


_ENDED: Position = ()


def _before(step: ScanStep, backward: bool) -> Position:
    if step.item is None:
        return step.position
    return (*step.position[:-1], step.position[-1] + (1 if backward else -1))


def cursor_of(which: str, *positions: Position) -> str:
    """`which` names the list and its order. To clients a cursor is a text without a meaning; those of Camunda 8 check
    that it is base64 with its padding."""
    return b64encode(json_bytes([_VERSION, which, *positions])).decode()


def positions_in(cursor: str, which: str, types: Sequence[type], scans: int = 1) -> list[Position]:
    """Raises `InputError` for what is no cursor of this list in this order."""
    # In an address that was not encoded, a plus reads as a blank.
    given = cursor.replace(" ", "+")
    try:
        version, name, *positions = read_client_json(b64decode(given + "=" * (-len(given) % 4), validate=True))
    except (*NOT_JSON, ValueError, TypeError):
        version, name, positions = None, None, []
    are_positions = len(positions) == scans and all(
        isinstance(it, list) and (_is_position(it, types) or (not it and scans > 1)) for it in positions
    )
    if version != _VERSION or name != which or not are_positions:
        raise InputError(
            [f"{cursor!r:.60} is no cursor of this list in this order: take the one that the page before gave"]
        )
    return [tuple(it) for it in positions]


def _is_position(position: list[Any], types: Sequence[type]) -> bool:
    return len(position) == len(types) and all(
        kind is object or (type(it) is kind and is_storable(it)) for it, kind in zip(position, types, strict=True)
    )


def position_types(table: Table, order: RowOrder) -> list[type]:
    known = dict(zip(table.columns, table.types, strict=True))
    return [*(known[column] for column in places_of(table, order)), int]


def is_storable(value: Any) -> bool:
    """Could a column hold it? What a client sent goes into a statement."""
    return is_text(value) if isinstance(value, str) else not isinstance(value, int) or abs(value) <= LARGEST_INT64

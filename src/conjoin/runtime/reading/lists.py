"""Lists of what a store holds: messages, subscriptions, instances and so on, filtered, page by page.

Rows come by key, oldest first on each shard, and a page goes on after the last row of the one before: what was there
when the first page was asked for is seen exactly once, whatever is added meanwhile. Nothing here decides anything.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.explain.explanation import STORAGE
from conjoin.runtime.ingest.dead_letters import REASONS as DEAD_LETTER_REASONS
from conjoin.runtime.reading.cursors import after_of, cursor_at, cursor_of, is_storable_part
from conjoin.runtime.reading.list_items import (
    dead_letter_items,
    incident_items,
    instance_items,
    job_items,
    message_items,
    set_aside_items,
    subscription_items,
)
from conjoin.runtime.reading.stretches import FIRST_AT_ONCE, can_be_walked, next_at_once, stretches
from conjoin.runtime.run.instance_changes import ACTIVE, COMPLETED, TERMINATED
from conjoin.runtime.run.set_aside import DELETED, MAIL, START_TIMERS, WAITING
from conjoin.runtime.run.set_aside import KINDS as SET_ASIDE_KINDS
from conjoin.store import tables as t
from conjoin.store.port import Meets, RowOrder
from conjoin.store.reading import has_deadline, is_late
from conjoin.store.tables import Table

_AT_ONCE = 1_000
_MEANS_OTHERS = re.compile(r"[*?\\]")


class ListPage(NamedTuple):
    """`after` is where the next page goes on; None on the last one."""

    items: list[Any]
    after: str | None
    is_cut: bool = False
    """Its time was up before it was full: there may be more behind `after`, and perhaps there is nothing."""


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which rows: by the values of filters, from an instant on and before another; and how many at most."""

    filters: Mapping[str, Any] = field(default_factory=dict)
    since: int | None = None
    until: int | None = None
    limit: int = 50
    after: str | None = None
    newest_first: bool = False
    """By key, too: from the last row to the first."""


@dataclass(frozen=True, slots=True)
class Listing:
    table: Table
    items: Callable[[Broker, Sequence[Any]], Iterable[Any]]
    columns: Mapping[str, str]
    """Filters that the store looks at."""
    tests: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """Filters that each item is asked."""
    choices: Mapping[str, Collection[str]] = field(default_factory=dict)
    """What filters with a closed set of values can be: a slip of the pen must not look like an empty list."""
    time: str | None = None
    """The column that `since` and `until` are compared with."""
    narrows: Mapping[str, Callable[[Any], Mapping[str, Any]]] = field(default_factory=dict)
    """What a filter means for columns, besides: rows that cannot pass it are not looked at."""
    row_tests: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """Filters that each row is asked, before an item is made of it."""

    @property
    def filters(self) -> list[str]:
        return [*self.columns, *self.tests, *self.row_tests]

    def tests_itself(self, asked: ListQuery) -> bool:
        """The store cannot tell how many of its rows pass."""
        return any(name in self.tests or name in self.row_tests for name in asked.filters)


def containing(text: str) -> Meets:
    """In the conditions of a list: a column with this in it."""
    as_it_is = _MEANS_OTHERS.sub(r"\\\g<0>", text)
    return Meets((("like", f"*{as_it_is}*"),))


_NOT_CORRELATED = {"verdict": Meets((("<>", "correlated"),))}

LISTS: dict[str, Listing] = {
    "messages": Listing(
        t.MESSAGE,
        message_items,
        {
            **{"name": "name", "key": "correlation_key", "tenant": "tenant_id", "id": "message_id"},
            **{"business_id": "business_id", "verdict": "verdict", "reason": "reason"},
        },
        {
            "state": lambda item, state: item.storage == state,
            "process": lambda item, process: any(attempt.process == process for attempt in item.attempts),
            "instance": lambda item, instance: any(attempt.instance == instance for attempt in item.attempts),
        },
        {
            "verdict": REASONS,
            "reason": sorted({reason for reasons in REASONS.values() for reason in reasons}),
            "state": STORAGE,
        },
        "published_at",
        {
            "verdict": lambda verdict: {} if verdict == "correlated" else _NOT_CORRELATED,
            "reason": lambda reason: {} if reason in REASONS["correlated"] else _NOT_CORRELATED,
            "state": lambda state: {"live": 1} if state in ("buffered", "held") else {},
            "process": lambda process: {"record": containing(json_text(process))},
            "instance": lambda instance: {"record": containing(str(instance))},
        },
    ),
    "subscriptions": Listing(
        t.SUBSCRIPTION,
        subscription_items,
        {
            **{"name": "name", "key": "correlation_key", "tenant": "tenant_id", "process": "process_id"},
            **{"instance": "instance_key", "element": "element_id", "business_id": "business_id"},
        },
        {"state": lambda item, state: item.state == state},
        {"state": ("open", "busy", "closed")},
        "opened_at",
        {"state": lambda state: {"closed_at": Meets((("<>" if state == "closed" else "=", None),))}},
    ),
    "instances": Listing(
        t.INSTANCE,
        instance_items,
        {
            **{"process": "process_id", "version": "version", "state": "state", "tenant": "tenant_id"},
            **{"instance": "key", "parent": "parent_key", "business_id": "business_id"},
        },
        {"incidents": lambda item, wanted: bool(item.incidents) == wanted},
        {"state": (ACTIVE, COMPLETED, TERMINATED)},
        "started_at",
        {
            "state": lambda state: {} if state == COMPLETED else {"state": Meets((("<>", COMPLETED),))},
            "incidents": lambda wanted: {"incidents": Meets(((">" if wanted else "=", 0),))},
        },
    ),
    "incidents": Listing(
        t.INCIDENT,
        incident_items,
        {"instance": "instance_key", "element": "element_id", "type": "error_type"},
        {
            "process": lambda item, process: item.process_id == process,
            "tenant": lambda item, tenant: item.tenant_id == tenant,
        },
    ),
    "jobs": Listing(
        t.JOB,
        job_items,
        {
            **{"type": "type", "state": "state", "tenant": "tenant_id", "instance": "instance_key"},
            **{"element": "element_id", "worker": "worker"},
        },
        {"process": lambda item, process: item.process_id == process},
        {"state": ("ready", "activated", "backing_off", "failed", "error_thrown")},
    ),
    "dead-letters": Listing(
        t.DEAD_LETTER,
        dead_letter_items,
        {"source": "source", "part": "part", "reason": "reason"},
        choices={"reason": DEAD_LETTER_REASONS},
        time="at",
    ),
    "set-aside": Listing(
        t.SET_ASIDE,
        set_aside_items,
        {"kind": "kind", "state": "state", "instance": "instance_key"},
        choices={"kind": (MAIL, *SET_ASIDE_KINDS, START_TIMERS), "state": (WAITING, DELETED)},
        time="since",
    ),
}


def list_page(broker: Broker, what: str, asked: ListQuery) -> ListPage:
    """`what` is one of `LISTS`. Raises `InputError` for a filter that it does not have and a cursor of another list."""
    return page_of(broker, what, LISTS[what], asked)


def page_of(broker: Broker, what: str, listing: Listing, asked: ListQuery) -> ListPage:
    refuse_unknown(what, listing, asked)
    found: list[tuple[Any, Any]] = []
    stopped_at: tuple[Any, ...] | None = None
    for rows, place in _pages(broker, listing, asked):
        found += islice(passing(broker, listing, asked, rows), asked.limit + 1 - len(found))
        if len(found) > asked.limit:
            break
        if place is not None and is_late():
            stopped_at = place
            break
    items = [item for _, item in found[: asked.limit]]
    if len(found) > asked.limit:
        return ListPage(items, cursor_of(listing.table, found[asked.limit - 1][0]))
    return ListPage(items, None if stopped_at is None else cursor_at(listing.table, stopped_at), stopped_at is not None)


def refuse_unknown(what: str, listing: Listing, asked: ListQuery) -> None:
    """Raises `InputError` for filters, or values of them, that there are not."""
    problems = list(_problems(what, listing, asked))
    if problems:
        raise InputError(problems)


def _problems(what: str, listing: Listing, asked: ListQuery) -> Iterator[str]:
    for name, value in asked.filters.items():
        if name not in listing.filters:
            yield f"{what} have no filter {name!r}"
        elif value not in listing.choices.get(name, (value,)):
            yield f"{name}: {value!r} is none of {', '.join(listing.choices[name])}"
        elif not all(is_storable_part(part) for _, part in _tests_of(value)):
            yield f"{name}: {value!r:.60} cannot be anywhere: it has characters that are no text, or too many digits"
    if listing.time is None and (asked.since, asked.until) != (None, None):
        yield f"{what} have no time to compare with since and until"


def where_of(listing: Listing, asked: ListQuery) -> dict[str, Any]:
    """What the store is asked."""
    where: dict[str, Any] = {}
    for name, value in asked.filters.items():
        said = {listing.columns[name]: value} if name in listing.columns else {}
        for condition in (said, listing.narrows.get(name, _nothing_more)(value)):
            where |= {column: _both(where.get(column), it) for column, it in condition.items()}
    times = ((">=", asked.since), ("<", asked.until))
    if listing.time is not None:
        where[listing.time] = Meets(tuple((operator, at) for operator, at in times if at is not None))
    return where


def _nothing_more(value: Any) -> Mapping[str, Any]:
    return {}


def _both(one: Any, other: Any) -> Any:
    if one is None:
        return other
    return Meets((*_tests_of(one), *_tests_of(other)))


def _tests_of(value: Any) -> tuple[tuple[str, Any], ...]:
    return value.tests if isinstance(value, Meets) else (("in" if isinstance(value, tuple) else "=", value),)


def passing(broker: Broker, listing: Listing, asked: ListQuery, rows: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Of these rows those that pass the tests, each with its item."""
    tests = [(listing.tests[name], value) for name, value in asked.filters.items() if name in listing.tests]
    of_rows = [(listing.row_tests[name], value) for name, value in asked.filters.items() if name in listing.row_tests]
    if of_rows:
        rows = [row for row in rows if all(test(row, value) for test, value in of_rows)]
    for row, item in zip(rows, listing.items(broker, rows), strict=True):
        if all(test(item, value) for test, value in tests):
            yield row, item


def _pages(broker: Broker, listing: Listing, asked: ListQuery) -> Iterator[tuple[list[Any], tuple[Any, ...] | None]]:
    """Rows that the store finds, and to where it has looked; None at the end."""
    table, where = listing.table, where_of(listing, asked)
    after = after_of(table, asked.after)
    most = min(asked.limit + 1, _AT_ONCE)
    order = RowOrder(backward=asked.newest_first)
    if has_deadline() and can_be_walked(table, where, order):
        most = _AT_ONCE if listing.tests_itself(asked) else most
        first = None if after is None else after[0]
        for rows, looked_to in stretches(broker.store, table, where, first, most, order.backward):
            yield rows, (looked_to,)
        return
    at_once = min(most, FIRST_AT_ONCE)
    while True:
        rows = list(broker.store.rows(table, where, after, at_once, order))
        after = tuple(getattr(rows[-1], column) for column in table.key) if len(rows) == at_once else None
        yield rows, after
        if after is None:
            return
        # Whoever needs many has a filter that lets few pass.
        at_once = next_at_once(rows, at_once, _AT_ONCE)

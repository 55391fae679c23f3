"""Lists of what a store holds: messages, subscriptions, instances and so on, filtered, page by page.

A page continues where the one before ended: what was there when the first was read is seen exactly once, whatever is
added meanwhile. What is listed is described here; `paging` reads it.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.kernel.keys import COUNTER_BITS
from conjoin.kernel.verdicts.verdicts import REASONS
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.explain.explanation import LOST, STORAGE
from conjoin.runtime.ingest.dead_letters import REASONS as DEAD_LETTER_REASONS
from conjoin.runtime.reading import list_items, paging
from conjoin.runtime.reading.paging import AT_ONCE, MergedScans, Scan, ScanStep
from conjoin.runtime.run.changes import ACTIVE, COMPLETED, TERMINATED
from conjoin.runtime.run.set_aside import DELETED, MAIL, START_TIMERS, WAITING
from conjoin.runtime.run.set_aside import KINDS as SET_ASIDE_KINDS
from conjoin.store import tables as t
from conjoin.store.port import Meets, RowOrder, tests_of
from conjoin.store.reading import is_late
from conjoin.store.tables import Table

_WILDCARD = re.compile(r"[*?\\]")
_COUNTER = (1 << COUNTER_BITS) - 1
_BORN_IN_ORDER = ("message", "instance")
"""Their times grow with the keys of a shard: behind the first that is too old, all are."""


class ListPage(NamedTuple):
    items: list[Any]
    after: str | None
    """The cursor of the next page; None on the last one."""
    is_cut: bool = False
    """Its time was up before it was full: there may be more behind `after`, and perhaps there is nothing."""
    looked_to: int | None = None
    """Of one that is cut, the newest first: all that is younger was looked at."""


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
    """Filters that the store checks."""
    tests: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """Filters that are checked on each item."""
    choices: Mapping[str, Collection[str]] = field(default_factory=dict)
    """What filters with a closed set of values can be: a typing error must not look like an empty list."""
    time: str | None = None
    """The column that `since` and `until` are compared with."""
    narrows: Mapping[str, Callable[[Any], Mapping[str, Any]]] = field(default_factory=dict)
    """Conditions on columns that follow from a filter: rows that cannot pass it are not read."""
    row_tests: Mapping[str, Callable[[Any, Any], bool]] = field(default_factory=dict)
    """Filters that are checked on each row, before an item is made of it."""
    where: Mapping[str, Any] = field(default_factory=dict)
    """Conditions that all of its rows meet."""

    @property
    def filters(self) -> list[str]:
        return [*self.columns, *self.tests, *self.row_tests]


def containing(text: str) -> Meets:
    """In the conditions of a list: a column with this in it."""
    escaped = _WILDCARD.sub(r"\\\g<0>", text)
    return Meets((("like", f"*{escaped}*"),))


_NOT_CORRELATED = {"verdict": Meets((("<>", "correlated"),))}

LISTS: dict[str, Listing] = {
    "messages": Listing(
        t.MESSAGE,
        list_items.message_items,
        {
            **{"name": "name", "key": "correlation_key", "tenant": "tenant_id", "id": "message_id"},
            **{"business_id": "business_id", "verdict": "verdict", "reason": "reason"},
        },
        {
            "state": lambda item, state: item.storage == state,
            "process": lambda item, process: any(attempt.process == process for attempt in item.attempts),
            "instance": lambda item, instance: any(attempt.instance == instance for attempt in item.attempts),
            "replaced": lambda item, wanted: (item.replaced_by is not None) == wanted,
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
        list_items.subscription_items,
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
        list_items.instance_items,
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
        list_items.incident_items,
        {"instance": "instance_key", "element": "element_id", "type": "error_type"},
        {
            "process": lambda item, process: item.process_id == process,
            "tenant": lambda item, tenant: item.tenant_id == tenant,
        },
    ),
    "jobs": Listing(
        t.JOB,
        list_items.job_items,
        {
            **{"type": "type", "state": "state", "tenant": "tenant_id", "instance": "instance_key"},
            **{"element": "element_id", "worker": "worker"},
        },
        {"process": lambda item, process: item.process_id == process},
        {"state": ("ready", "activated", "backing_off", "failed", "error_thrown")},
    ),
    "dead-letters": Listing(
        t.DEAD_LETTER,
        list_items.dead_letter_items,
        {"source": "source", "part": "part", "reason": "reason"},
        choices={"reason": DEAD_LETTER_REASONS},
        time="at",
    ),
    "set-aside": Listing(
        t.SET_ASIDE,
        list_items.set_aside_items,
        {"kind": "kind", "state": "state", "instance": "instance_key"},
        choices={"kind": (MAIL, *SET_ASIDE_KINDS, START_TIMERS), "state": (WAITING, DELETED)},
        time="since",
    ),
}


def list_page(broker: Broker, what: str, query: ListQuery) -> ListPage:
    """`what` is one of `LISTS`. Raises `InputError` for a filter that it does not have and a cursor of another list."""
    return page_of(broker, what, LISTS[what], query)


def page_of(broker: Broker, what: str, listing: Listing, query: ListQuery) -> ListPage:
    """By key."""
    return _page([_scan(broker, what, listing, query, query.newest_first)], query)[0]


def count_matching(broker: Broker, what: str, listing: Listing, query: ListQuery, most: int) -> int | None:
    """How many rows match, up to a number; None: that takes items, which the store does not make."""
    problems = list(_problems(what, listing, query))
    if problems:
        raise InputError(problems)
    if any(name not in listing.columns for name in query.filters):
        return None
    return broker.store.count(listing.table, _where(listing, query), most)


def newest_page(
    broker: Broker, what: str, listing: Listing, query: ListQuery, within_s: float = float("inf")
) -> ListPage:
    """The newest of all shards first. When the time is up, the page says to which instant everything was looked at."""
    scan = _scan(broker, what, listing, query, backward=True)
    if listing.table.key != ("key",) or "key" in scan.where:
        return page_of(broker, what, listing, query)
    since, ends = query.since, monotonic() + within_s

    def at(row: Any) -> int:
        """Without a time, how many keys its shard had given out."""
        return int(getattr(row, listing.time)) if listing.time else row.key & _COUNTER

    if since is not None and listing.table.name in _BORN_IN_ORDER:
        scan = replace(scan, ends_at=lambda row: at(row) < since)
    page, heads = _page(
        [replace(scan, keys=keys) for keys in shard_keys(broker)],
        query,
        lambda: monotonic() >= ends or is_late(),
        # What was found already comes before what was not looked at.
        lambda step: (at(step.row), step.item is not None),
    )
    return page._replace(looked_to=max(at(head.row) for head in heads)) if page.is_cut else page


def shard_keys(broker: Broker) -> list[tuple[int, int]]:
    """The first and the last key of every shard that there is, or was before their number changed."""
    numbers = range(1, broker.homes.number_of(broker.shard_count) + 1)
    return [(number << COUNTER_BITS, number << COUNTER_BITS | _COUNTER) for number in numbers]


def _page(
    scans: Sequence[Scan],
    query: ListQuery,
    is_over: Callable[[], bool] = is_late,
    rank: Callable[[ScanStep], Any] = lambda step: 0,
) -> tuple[ListPage, list[ScanStep]]:
    """With the steps at which scans stopped that have not ended."""
    table, order = scans[0].table, scans[0].order
    which, types = f"{table.name}{' backward' if order.backward else ''}", paging.position_types(table, order)
    after = [None] * len(scans) if query.after is None else paging.positions_in(query.after, which, types, len(scans))
    merged = MergedScans(scans, after, rank)
    # One more than is shown tells whether there are more.
    found, stopped = paging.take(merged, query.limit + 1, is_over)
    items = [step.item for step in found[: query.limit]]
    if len(found) <= query.limit and stopped is None:
        return ListPage(items, None), []
    cursor = paging.cursor_of(which, *merged.positions(order.backward))
    return ListPage(items, cursor, len(items) < query.limit), [head for head in merged.heads if head is not None]


def _scan(broker: Broker, what: str, listing: Listing, query: ListQuery, backward: bool) -> Scan:
    """Raises `InputError` for filters, or values of them, that there are not."""
    problems = list(_problems(what, listing, query))
    if problems:
        raise InputError(problems)
    of_rows = [(listing.row_tests[name], value) for name, value in query.filters.items() if name in listing.row_tests]
    of_items = [(listing.tests[name], value) for name, value in query.filters.items() if name in listing.tests]
    # The store cannot tell how many of its rows pass such tests.
    at_once = AT_ONCE if of_rows or of_items else min(query.limit + 1, AT_ONCE)
    if "replaced" in listing.tests and "replaced" not in query.filters and query.filters.get("verdict") in LOST:
        # Of those that were lost, the ones that still are; most are.
        of_items.append((listing.tests["replaced"], False))

    def show(rows: Sequence[Any]) -> Iterator[tuple[Any, Sequence[Any]]]:
        if of_rows:
            rows = [row for row in rows if all(test(row, value) for test, value in of_rows)]
        for row, item in zip(rows, listing.items(broker, rows), strict=True):
            if all(test(item, value) for test, value in of_items):
                yield row, (item,)

    where, order = _where(listing, query), RowOrder(backward=backward)
    return Scan(broker.store, listing.table, where, show, order, at_once)


def _problems(what: str, listing: Listing, query: ListQuery) -> Iterator[str]:
    for name, value in query.filters.items():
        if name not in listing.filters:
            yield f"{what} have no filter {name!r}"
        elif value not in listing.choices.get(name, (value,)):
            yield f"{name}: {value!r} is none of {', '.join(listing.choices[name])}"
        elif not all(paging.is_storable(part) for _, part in tests_of(value)):
            yield f"{name}: {value!r:.60} cannot be anywhere: it has characters that are no text, or too many digits"
    if listing.time is None and (query.since, query.until) != (None, None):
        yield f"{what} have no time to compare with since and until"


def _where(listing: Listing, query: ListQuery) -> dict[str, Any]:
    where: dict[str, Any] = dict(listing.where)
    for name, value in query.filters.items():
        own = {listing.columns[name]: value} if name in listing.columns else {}
        more = listing.narrows[name](value) if name in listing.narrows else {}
        for column, it in (*own.items(), *more.items()):
            where[column] = Meets((*tests_of(where[column]), *tests_of(it))) if column in where else it
    if listing.time is not None:
        times = ((">=", query.since), ("<", query.until))
        where[listing.time] = Meets(tuple((operator, at) for operator, at in times if at is not None))
    return where

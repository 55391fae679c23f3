"""Lists of what a store holds: messages, subscriptions, instances and so on, filtered, page by page.

Rows come by key, oldest first on each shard, and a page goes on after the last row of the one before: what was there
when the first page was asked for is seen exactly once, whatever is added meanwhile. Nothing here decides anything.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.kernel.correlation.verdicts import REASONS
from conjoin.runtime.broker import Broker
from conjoin.runtime.cursors import after_of, cursor_of
from conjoin.runtime.explanation import STORAGE
from conjoin.runtime.ingest.dead_letters import REASONS as DEAD_LETTER_REASONS
from conjoin.runtime.instance_changes import ACTIVE, COMPLETED, TERMINATED
from conjoin.runtime.list_items import (
    dead_letter_items,
    incident_items,
    instance_items,
    job_items,
    message_items,
    subscription_items,
)
from conjoin.store import tables as t
from conjoin.store.port import Meets, Order
from conjoin.store.tables import Table

_AT_ONCE = 1_000


class Page(NamedTuple):
    """`after` is where the next page goes on; None on the last one."""

    items: list[Any]
    after: str | None


@dataclass(frozen=True, slots=True)
class Asked:
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

    @property
    def filters(self) -> list[str]:
        return [*self.columns, *self.tests]


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
}


def list_page(broker: Broker, what: str, asked: Asked) -> Page:
    """`what` is one of `LISTS`. Raises `InputError` for a filter that it does not have and a cursor of another list."""
    return page_of(broker, what, LISTS[what], asked)


def page_of(broker: Broker, what: str, listing: Listing, asked: Asked) -> Page:
    problems = list(_problems(what, listing, asked))
    if problems:
        raise InputError(problems)
    found = list(islice(_found(broker, listing, asked), asked.limit + 1))
    items = [item for _, item in found[: asked.limit]]
    is_last = len(found) <= asked.limit
    return Page(items, None if is_last else cursor_of(listing.table, found[asked.limit - 1][0]))


def _problems(what: str, listing: Listing, asked: Asked) -> Iterator[str]:
    for name, value in asked.filters.items():
        if name not in listing.filters:
            yield f"{what} have no filter {name!r}"
        elif value not in listing.choices.get(name, (value,)):
            yield f"{name}: {value!r} is none of {', '.join(listing.choices[name])}"
    if listing.time is None and (asked.since, asked.until) != (None, None):
        yield f"{what} have no time to compare with since and until"


def _found(broker: Broker, listing: Listing, asked: Asked) -> Iterator[tuple[Any, Any]]:
    """Rows and their items that pass all filters, by key."""
    where: dict[str, Any] = {}
    where |= {listing.columns[name]: value for name, value in asked.filters.items() if name in listing.columns}
    tests = [(listing.tests[name], value) for name, value in asked.filters.items() if name in listing.tests]
    times = ((">=", asked.since), ("<", asked.until))
    if listing.time is not None:
        where[listing.time] = Meets(tuple((operator, at) for operator, at in times if at is not None))
    for rows in _pages(broker, listing.table, where, asked):
        for row, item in zip(rows, listing.items(broker, rows), strict=True):
            if all(test(item, value) for test, value in tests):
                yield row, item


def _pages(broker: Broker, table: Table, where: Mapping[str, Any], asked: Asked) -> Iterator[list[Any]]:
    after = after_of(table, asked.after)
    at_once = min(asked.limit + 1, _AT_ONCE)
    order = Order(backward=asked.newest_first)
    while True:
        rows = list(broker.store.rows(table, where, after, at_once, order))
        yield rows
        if len(rows) < at_once:
            return
        after = tuple(getattr(rows[-1], column) for column in table.key)
        # Whoever needs a second one has a filter that lets few pass.
        at_once = _AT_ONCE

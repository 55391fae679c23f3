"""Queries of the console, for `Service.look`: in plain values, keys and instants as text. Nothing is decided.

Each looks at a bounded number of rows, or for a bounded time.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.gateway.monitoring.metrics import OPEN
from conjoin.gateway.queries.element_names import with_names
from conjoin.gateway.queries.variable_tests import passes_row, possible_rows, read_variable_test
from conjoin.gateway.search.engine.filters import read_pattern
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.inbox_orders import SIMPLE
from conjoin.runtime.client_api.inbox_orders import OperationRefused as InboxRefusal
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import LOST as LOST
from conjoin.runtime.explain.kept.replacing import replaced_by
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.listing import INBOX
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import Meets
from conjoin.runtime.reading.instances import USER_TASK, elements_of, subscriptions_of
from conjoin.runtime.reading.list_items import subscription_items
from conjoin.runtime.reading.lists import (
    LISTS,
    Listing,
    ListPage,
    ListQuery,
    count_matching,
    newest_page,
    shard_keys,
)
from conjoin.runtime.visibility.hiding import MARK
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

WITHIN_S = 0.12
"""A page is shown after about this time, however little was found, and can be continued."""
MOST_COUNTED = 100_000
MOST_INSTANCES = 1_000
"""So many active instances of a model are looked into."""
MOST_MESSAGES = 1_000
MOST_ELEMENTS = 2_000
"""Of a model, on a page."""
_MOST_WAITS = 20
NUMBERS = ("instance", "parent", "version")
FLAGS = ("incidents", "replaced")
"""Filters of lists whose values are no texts."""
_WORDS = {"true": True, "false": False}

COUNTED = tuple(OPEN)
_MESSAGES = LISTS["messages"]
_ROWS = replace(LISTS["instances"], items=lambda broker, rows: rows)
"""Instances as they are stored."""
_LOST = {"lost": lambda wanted: {"reason": Meets((("<>", "duplicate_id"),))}}
"""A refused duplicate is not among those that were lost: somebody has the first one."""
INCIDENT_TYPES = (
    *("EXTRACT_VALUE_ERROR", "CONDITION_ERROR", "IO_MAPPING_ERROR", "JOB_NO_RETRIES", "UNHANDLED_ERROR_EVENT"),
    *("CALLED_ELEMENT_ERROR", "DUPLICATE_SUBSCRIPTION"),
)
_BARE_MESSAGES = replace(_MESSAGES, items=lambda broker, rows: [row._replace(variables="") for row in rows])
_JOBS = LISTS["jobs"]
_NO_TASK = Meets((("<>", USER_TASK),))
LISTING = {
    **LISTS,
    "jobs": replace(_JOBS, where={"type": _NO_TASK}),
    "tasks": replace(_JOBS, where={"type": USER_TASK}),
    "inbox": INBOX,
    "incidents": replace(LISTS["incidents"], choices={"type": INCIDENT_TYPES}),
    "messages": replace(
        _MESSAGES,
        columns={**_MESSAGES.columns, "lost": "verdict"},
        narrows={**_MESSAGES.narrows, "variables": possible_rows, **_LOST},
        row_tests={"variables": passes_row},
    ),
}
OPERATIONS = SIMPLE
"""What can be done to messages of the inbox, by its word."""


class Wanted(NamedTuple):
    """Rows of a list: filters by name, from an instant on, and after which page."""

    filters: Mapping[str, str]
    since: int | None = None
    cursor: str | None = None
    limit: int = 50
    within_s: float | None = None
    """How long to look at most, about; None: `WITHIN_S`."""


def page(broker: Broker, what: str, wanted: Wanted) -> dict[str, Any]:
    """The newest first: `items`, and the `cursor` of what is older. In a filter * stands for any characters.

    A search that took too long `is_cut`: it has `looked_to` an instant, and its cursor continues there.
    """
    listing = LISTING[what]
    filters = {name: _read(listing, name, value) for name, value in wanted.filters.items()}
    if "variables" in filters:
        test = filters["variables"]
        if any(map(broker.hiding.hides, (*test.path, ".".join(test.path)))):
            raise InputError(["variables: a value that is hidden cannot be looked for"])
        filters["variables"] = test._replace(hiding=broker.hiding)
    query = ListQuery(filters, wanted.since, None, wanted.limit, wanted.cursor)
    found = newest_page(broker, what, listing, query, WITHIN_S if wanted.within_s is None else wanted.within_s)
    looked_to = instant_text(found.looked_to) if found.looked_to is not None and listing.time else ""
    return {**page_as_json(found), "looked_to": looked_to}


def count(broker: Broker, what: str, wanted: Wanted) -> int | None:
    """How many match, up to `MOST_COUNTED`; None: the store cannot count them."""
    listing = LISTING[what]
    filters = {name: _read(listing, name, value) for name, value in wanted.filters.items()}
    return count_matching(broker, what, listing, ListQuery(filters, wanted.since), MOST_COUNTED)


def page_as_json(page: ListPage) -> dict[str, Any]:
    return {"items": [to_plain(item) for item in page.items], "cursor": page.after, "is_cut": page.is_cut}


def inbox_message(broker: Broker, inbox: Inbox, key: int) -> dict[str, Any] | Refusal:
    """With its history. A payload that is no text is shown as far as it is one."""
    shown = inbox.show(key)
    if shown is None:
        return Refusal("NOT_FOUND", f"There is no message {key} in the inbox")
    return shown.as_json() | {"payload": shown.payload.decode("utf-8", "replace")}


def inbox_selection(wanted: Wanted) -> ListQuery:
    """Everything that the filters find."""
    return ListQuery({name: _read(INBOX, name, value) for name, value in wanted.filters.items()}, wanted.since)


def typed(name: str, text: str) -> Any:
    """The value of a filter, as a client writes it. Raises `InputError`."""
    if name in NUMBERS:
        return whole_number(name, text)
    if name in FLAGS and text not in _WORDS:
        raise InputError([f"{name}: {text!r:.40} is none of {', '.join(_WORDS)}"])
    return _WORDS[text] if name in FLAGS else text


def whole_number(name: str, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise InputError([f"{name}: {text!r:.60} is not a whole number"])


def _read(listing: Listing, name: str, text: str) -> Any:
    if name == "lost":
        return Meets((("in", LOST),))
    if name in listing.row_tests:
        return read_variable_test(text)
    if "*" not in text or name not in listing.columns or name in (*listing.choices, *NUMBERS):
        return typed(name, text)
    try:
        return Meets((("like", read_pattern(text)),))
    except ValueError as expected:
        raise InputError([f"{name} takes {expected}"]) from None


def why_not(outcome: object) -> str | None:
    """None: it was done."""
    return outcome.text if isinstance(outcome, (Refusal, InboxRefusal)) else None


def explained(broker: Broker, key: int) -> dict[str, Any] | Refusal:
    found = explain(broker, key)
    return found if isinstance(found, Refusal) else dict(found.as_json())


def has_hidden(text: str) -> bool:
    """Of variables as they were shown: a mark stands there instead of a value."""
    return MARK in text


def newest_messages(broker: Broker, limit: int = MOST_MESSAGES) -> list[Any]:
    """Rows, without the variables of the messages, which may be megabytes."""
    return newest_page(broker, "messages", _BARE_MESSAGES, ListQuery(limit=limit)).items


def newest_lost(broker: Broker, limit: int) -> list[Any]:
    """Of so many of the newest messages the rows of those that nobody has, and that nothing was sent in place of."""
    rows = [row for row in newest_messages(broker, limit) if row.verdict not in ("correlated", "waiting")]
    replaced = replaced_by(broker, rows)
    return [row for row in rows if row.key not in replaced]


def what_has_key(broker: Broker, key: int) -> str | None:
    """An instance, or a message."""
    return next((table for table in ("instance", "message") if finding.rows_with(broker, table, [key])), None)


def models(broker: Broker) -> list[dict[str, Any]]:
    """The latest version of every process."""
    by_process = broker.definitions.versions
    seen = finding.rows_with(broker, "definition", [versions[-1].key for versions in by_process.values()])
    return [
        {**_definition(versions[-1]), "versions": len(versions), "awaits": sorted(set(_names_of(versions[-1])))}
        for _, versions in sorted(by_process.items(), key=lambda it: it[0][::-1])
        if versions[-1].key in seen
    ]


def _definition(it: Any) -> dict[str, Any]:
    name = it.plan.name or it.process_id
    which = {"process_id": it.process_id, "version": it.version, "tenant_id": it.tenant_id}
    return {"key": str(it.key), "name": name, **which}


def _names_of(definition: Any) -> Iterator[str]:
    plan = definition.plan
    for element in (*plan.starts, *plan.waits):
        name = getattr(element.event, "name", None)
        if text := getattr(name, "text", "") or (str(name({}, 0)) if callable(name) else ""):
            yield text


def model_facts(broker: Broker, key: int) -> dict[str, Any] | Refusal:
    """What it is made of, and whether it can be drawn."""
    content = xml(broker, key)
    if isinstance(content, Refusal):
        return content
    found = broker.definitions.by_key[key]
    elements = []
    for it in islice(found.plan.elements.values(), MOST_ELEMENTS):
        flows = [*it.outgoing[::-1], *([it.default] if it.default else ())]
        names = {"id": it.id, "name": it.name or it.id, "kind": it.kind}
        elements.append({**names, "next": [flow.target.id for flow in flows]})
    left_out = len(found.plan.elements) - len(elements)
    return _definition(found) | {"elements": elements, "left_out": left_out, "has_diagram": b"BPMNPlane" in content}


def model(broker: Broker, key: int) -> dict[str, Any] | Refusal:
    """With its other versions, how many of its newest instances are where, and the messages that they wait for."""
    facts = model_facts(broker, key)
    if isinstance(facts, Refusal):
        return facts
    which = {"process": facts["process_id"], "version": facts["version"], "tenant": facts["tenant_id"]}
    query = ListQuery({**which, "state": "active"}, limit=MOST_INSTANCES)
    rows = newest_page(broker, "instances", _ROWS, query, WITHIN_S).items
    inside = [it for row in rows for it in elements_of(row) if it.scope_key]
    tokens = Counter(it.element_id for it in inside)
    troubled = Counter(it.element_id for it in inside if it.incident_key)
    open_waits = subscription_items(broker, subscriptions_of(broker, rows, _MOST_WAITS))
    waits = with_names(broker, [to_plain(it) for it in open_waits])
    versions = broker.definitions.versions[(facts["tenant_id"], facts["process_id"])]
    counts = {"tokens": dict(tokens), "troubled": dict(troubled), "active": len(rows), "waits": waits}
    return {**facts, **counts, "versions": [_definition(it) for it in versions[::-1]]}


def xml(broker: Broker, key: int) -> bytes | Refusal:
    view = broker.catalog.view()
    if not finding.rows_with(broker, "definition", [key]):
        return Refusal("NOT_FOUND", f"There is no model {key}")
    return view.deployments.resource(key)[1]


def open_counts(broker: Broker) -> dict[str, int]:
    return {name: finding.count(broker, *what, MOST_COUNTED) for name, what in OPEN.items()}


def oldest_buffered_at(broker: Broker) -> int | None:
    """When the oldest message that is kept was published: keys of a shard, and so its times, only grow."""
    table, where = OPEN["buffered_messages"]
    ranges = ({"key": Meets(((">=", low), ("<=", high)))} for low, high in shard_keys(broker))
    found = (row for keys in ranges for row in finding.rows(broker, table, {**where, **keys}, 1))
    return min((int(row.published_at) for row in found), default=None)

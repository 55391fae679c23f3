"""What the console asks of a store, for `Service.look`: in plain values, keys and instants as text. Nothing is decided.

Every question looks at a bounded number of rows, unless a filter of a list finds few.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from conjoin.gateway.metrics import OPEN
from conjoin.gateway.newest import newest_page, newest_rows, oldest_at
from conjoin.gateway.rest.endpoint import accepted
from conjoin.gateway.rest.own.asking import page_as_json
from conjoin.gateway.rest.problems import invalid, not_found
from conjoin.runtime import finding
from conjoin.runtime.answers import Refusal
from conjoin.runtime.broker import Broker
from conjoin.runtime.encoding.json_text import json_text
from conjoin.runtime.explain import explain, explain_named
from conjoin.runtime.finding import Meets
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.listing import INBOX
from conjoin.runtime.inbox_orders import SIMPLE
from conjoin.runtime.inbox_orders import Refusal as InboxRefusal
from conjoin.runtime.inside import elements_of, variables_of
from conjoin.runtime.instant_texts import instant_text
from conjoin.runtime.list_items import instance_items, message_items
from conjoin.runtime.lists import LISTS, Asked, Listing, page_of
from conjoin.runtime.messages import NewMessage
from conjoin.runtime.telling import told

MOST_COUNTED = 100_000
MOST_INSTANCES = 1_000
"""So many active instances of a model are looked into."""
MOST_MESSAGES = 1_000
_NUMBERS = ("instance", "parent", "version")

COUNTED = tuple(OPEN)
LISTING = {**LISTS, "inbox": INBOX}
OPERATIONS = SIMPLE
"""What can be done to messages of the inbox, by its word."""


class Wanted(NamedTuple):
    """Rows of a list: filters by name, from an instant on, and after which page."""

    filters: Mapping[str, str]
    since: int | None = None
    cursor: str | None = None
    limit: int = 50


def page(broker: Broker, what: str, wanted: Wanted) -> dict[str, Any]:
    """The newest first: `items`, and the `cursor` of what is older. In a filter * stands for any characters."""
    listing = LISTING[what]
    filters = {name: _read(listing, name, value) for name, value in wanted.filters.items()}
    asked = Asked(filters, wanted.since, None, wanted.limit, wanted.cursor)
    is_one_key = any(listing.columns.get(name) == "key" for name in filters)
    if listing.table.key == ("key",) and not is_one_key:
        return page_as_json(newest_page(broker, what, listing, asked))
    return page_as_json(page_of(broker, what, listing, asked))


def inbox_message(broker: Broker, inbox: Inbox, key: int) -> dict[str, Any]:
    """With its history. A payload that is no text is shown as far as it is one."""
    shown = inbox.show(key)
    if shown is None:
        raise not_found(f"There is no message {key} in the inbox")
    history = [{**line._asdict(), "at": instant_text(line.at)} for line in shown.history]
    said: dict[str, Any] = told(shown._replace(payload=b"", headers={}, history=()))
    whole = {"headers": dict(shown.headers), "payload": shown.payload.decode("utf-8", "replace"), "history": history}
    item: dict[str, Any] = said.pop("item")
    return item | said | whole


def inbox_selection(wanted: Wanted) -> Asked:
    """Everything that the filters find."""
    return Asked({name: _read(INBOX, name, value) for name, value in wanted.filters.items()}, wanted.since)


def _read(listing: Listing, name: str, value: str) -> Any:
    if name in _NUMBERS:
        return _number(name, value)
    is_pattern = "*" in value and name in listing.columns and name not in listing.choices
    return Meets((("like", value),)) if is_pattern else value


def _number(name: str, text: str) -> int:
    if text.isascii() and text.isdigit() and len(text) < 19:
        return int(text)
    raise invalid(f"{name}: {text!r:.60} is not a whole number")


def why_not(outcome: object) -> str | None:
    """None: it was done."""
    return outcome.text if isinstance(outcome, (Refusal, InboxRefusal)) else None


def explained(broker: Broker, key: int) -> dict[str, Any]:
    return dict(accepted(explain(broker, key)).as_json())


def rehearsed(broker: Broker, message: NewMessage) -> dict[str, Any]:
    """What would become of it."""
    return explain_named(broker, message).dry_run.as_json()


def newest_messages(broker: Broker, limit: int = MOST_MESSAGES) -> list[Any]:
    """Rows."""
    return newest_rows(broker, "message", {}, limit, "published_at")


def messages_taken_by(broker: Broker, instance_key: int) -> list[dict[str, Any]]:
    """Of the newest messages."""
    items = message_items(broker, newest_messages(broker))
    return [told(item) for item in items if any(attempt.instance == instance_key for attempt in item.attempts)]


def what_has_key(broker: Broker, key: int) -> str | None:
    """An instance, or a message."""
    return next((table for table in ("instance", "message") if finding.rows_with(broker, table, [key])), None)


def instance(broker: Broker, key: int) -> dict[str, Any]:
    """With what is alive inside, and every variable as JSON."""
    row = finding.rows_with(broker, "instance", [key]).get(key)
    if row is None:
        raise not_found(f"There is no instance {key}")
    [item] = instance_items(broker, [row])
    elements = [_element(broker, row, it) for it in elements_of(row)]
    names = {it["key"]: it["element_id"] for it in elements}
    variables = [
        {"key": str(it.key), "name": it.name, "value": json_text(it.value), "scope_key": str(it.scope_key)}
        for it in variables_of(row)
    ]
    for it in variables:
        it["scope"] = names.get(it["scope_key"], "")
    return {**told(item), "definition_key": str(row.definition_key), "elements": elements, "variables": variables}


def _element(broker: Broker, row: Any, it: Any) -> dict[str, Any]:
    plan = broker.definitions.by_key[row.definition_key].plan
    element = plan.root if it.scope_key == 0 else plan.elements[it.element_id]
    return {
        "key": str(it.key),
        "element_id": element.id,
        "name": element.name or element.id,
        "kind": element.kind,
        "is_root": it.scope_key == 0,
        "incident_key": str(it.incident_key or ""),
    }


def models(broker: Broker) -> list[dict[str, Any]]:
    """The latest version of every process."""
    by_process = broker.definitions.versions
    return [
        {**_definition(versions[-1]), "versions": len(versions), "awaits": sorted(set(_names_of(versions[-1])))}
        for _, versions in sorted(by_process.items(), key=lambda it: it[0][::-1])
    ]


def _definition(it: Any) -> dict[str, Any]:
    name = it.plan.name or it.process_id
    which = {"process_id": it.process_id, "version": it.version, "tenant_id": it.tenant_id}
    return {"key": str(it.key), "name": name, **which}


def _names_of(definition: Any) -> Iterator[str]:
    plan = definition.plan
    for element in (*plan.starts, *plan.waits):
        name = getattr(element.event, "name", None)
        text = getattr(name, "text", "") or (str(name({}, 0)) if callable(name) else "")
        if text:
            yield text


def model_facts(broker: Broker, key: int) -> dict[str, Any]:
    """What it is made of, and whether it can be drawn."""
    found = broker.definitions.by_key.get(key)
    if found is None:
        raise not_found(f"There is no model {key}")
    elements = [_part(it) for it in found.plan.elements.values()]
    return {**_definition(found), "elements": elements, "has_diagram": b"BPMNPlane" in xml(broker, key)}


def _part(it: Any) -> dict[str, Any]:
    """An element: what comes next, and what it holds (its boundary events, and where it begins inside)."""
    flows = [*it.outgoing[::-1], *([it.default] if it.default else ())]
    inside = [*it.boundaries[::-1], *([it.start] if it.start else ()), *it.event_subprocesses]
    links = {"next": [flow.target.id for flow in flows], "holds": [held.id for held in inside]}
    return {"id": it.id, "name": it.name or it.id, "kind": it.kind, **links}


def model(broker: Broker, key: int) -> dict[str, Any]:
    """With its other versions, and how many of its newest instances are where."""
    facts = model_facts(broker, key)
    where = {"definition_key": key, "state": "active"}
    rows = newest_rows(broker, "instance", where, MOST_INSTANCES, "started_at")
    inside = [it for row in rows for it in elements_of(row) if it.scope_key]
    tokens = Counter(it.element_id for it in inside)
    troubled = Counter(it.element_id for it in inside if it.incident_key)
    versions = broker.definitions.versions[(facts["tenant_id"], facts["process_id"])]
    counts = {"tokens": dict(tokens), "troubled": dict(troubled), "active": len(rows)}
    return {**facts, **counts, "versions": [_definition(it) for it in versions[::-1]]}


def xml(broker: Broker, key: int) -> bytes:
    view = broker.catalog.view()
    if key not in view.definitions.by_key:
        raise not_found(f"There is no model {key}")
    return view.deployments.resource(key)[1]


def open_counts(broker: Broker) -> dict[str, int]:
    return {name: finding.count(broker, *what, MOST_COUNTED) for name, what in OPEN.items()}


def oldest_buffered_at(broker: Broker) -> int | None:
    """When the oldest message that is kept was published."""
    return oldest_at(broker, *OPEN["buffered_messages"], "published_at")

"""What the console asks of one instance, for `Service.look`: what is inside, who called whom, and its history.

Everything is looked up by the keys that its row has, and nothing is searched for; the log is read for a bounded time.
"""

from typing import Any, NamedTuple

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import Meets
from conjoin.runtime.reading.instance_history import Moment, history_of
from conjoin.runtime.reading.instances import LiveElement, elements_of, shown_text, subscriptions_of, variables_of
from conjoin.runtime.reading.list_items import (
    incident_items,
    instance_items,
    job_items,
    message_items,
    subscription_items,
)
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

MOST = 200
"""Of each: waits, jobs, incidents, called instances."""
_LONGEST = 1_000
"""Characters of the variables of a moment: there may be hundreds of them, and each may be large."""


class Inside(NamedTuple):
    """What an instance waits for, does and calls. `caller` is the instance that called it."""

    waits: list[dict[str, Any]]
    jobs: list[dict[str, Any]]
    incidents: list[dict[str, Any]]
    called: list[str]
    caller: str


def instance(broker: Broker, key: int) -> dict[str, Any] | Refusal:
    """With what is alive inside, and every variable as JSON."""
    row = _row(broker, key)
    if row is None:
        return _missing(key)
    [item] = instance_items(broker, [row])
    elements = [_element(broker, row, it) for it in elements_of(row)]
    names = {it["key"]: it["element_id"] for it in elements}
    shown = ((it, json_text(broker.hiding.value(it.name, it.value))) for it in variables_of(row))
    variables = [
        {"key": str(it.key), "name": it.name, "value": value, "scope": names.get(str(it.scope_key), "")}
        for it, value in shown
    ]
    return {**to_plain(item), "definition_key": str(row.definition_key), "elements": elements, "variables": variables}


def inside(broker: Broker, key: int) -> Inside | Refusal:
    row = _row(broker, key)
    if row is None:
        return _missing(key)
    elements = elements_of(row)
    jobs = finding.rows_with(broker, "job", [it.job_key for it in elements if it.job_key][:MOST])
    incidents = finding.rows_with(broker, "incident", [it.incident_key for it in elements if it.incident_key][:MOST])
    caller, called = _family(broker, row, elements)
    return Inside(
        [to_plain(it) for it in subscription_items(broker, subscriptions_of(broker, [row], MOST))],
        [to_plain(it) for it in job_items(broker, list(jobs.values()))],
        [to_plain(it) for it in incident_items(broker, list(incidents.values()))],
        [str(it) for it in called],
        caller,
    )


def _family(broker: Broker, row: Any, elements: list[LiveElement]) -> tuple[str, list[int]]:
    """Who called it, and whom it calls. Of one that has ended, whatever belongs to its tree is told."""
    where = {"tree_key": row.tree_key, "parent_key": Meets((("<>", 0),))}
    tree = finding.rows(broker, "instance", where, MOST)
    mine = {it.key for it in elements}
    is_ended_root = row.key == row.tree_key and row.state != "active"
    called = [it.key for it in tree if it.key != row.key and (it.parent_key in mine or is_ended_root)]
    if not row.parent_key:
        return "", called
    others = [it for it in tree if it.key != row.key]
    callers = [it.key for it in others if any(element.key == row.parent_key for element in elements_of(it))]
    return str(callers[0] if callers else row.tree_key), called


def _row(broker: Broker, key: int) -> Any:
    return finding.rows_with(broker, "instance", [key]).get(key)


def _missing(key: int) -> Refusal:
    return Refusal("NOT_FOUND", f"There is no instance {key}")


def _element(broker: Broker, row: Any, it: LiveElement) -> dict[str, Any]:
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


def history(broker: Broker, key: int, patience_s: float) -> dict[str, Any] | Refusal:
    """Its `moments`, oldest first, and the `messages` that it was given; and what is known of what is missing."""
    row = _row(broker, key)
    if row is None:
        return _missing(key)
    found = history_of(broker, row, patience_s)
    taken = finding.rows_with(broker, "message", [it.message_key for it in found.moments if it.message_key])
    return {
        "moments": [_moment(broker, row, it, it.message_key in taken) for it in found.moments],
        "messages": [to_plain(it) for it in message_items(broker, list(taken.values()))],
        "looked_to": instant_text(found.looked_to) if found.looked_to is not None else "",
        "begins_at": instant_text(found.begins_at) if found.begins_at is not None else "",
        "left_out": found.left_out,
    }


def _moment(broker: Broker, row: Any, it: Moment, is_known: bool) -> dict[str, Any]:
    """`is_known`: the message is still there to be looked at."""
    said = json_text(broker.hiding.of(it.variables))[:_LONGEST] if it.variables else ""
    detail = shown_text(broker.hiding, it.detail, row)
    return {
        **to_plain(it._replace(variables=None, detail=detail)),
        "at": instant_text(it.at),
        "variables": said,
        "is_known": is_known,
    }

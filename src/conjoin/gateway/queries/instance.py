"""Queries of the console about one instance, for `Service.look`: what is inside, its caller, its calls, its history.

Everything is looked up by the keys that its row has, and nothing is searched for; the log is read for a bounded time.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from conjoin.gateway.queries.element_names import element_name, message_name
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.reading import finding, list_items
from conjoin.runtime.reading.finding import Meets, rows_with
from conjoin.runtime.reading.instance_history import history_of
from conjoin.runtime.reading.instances import (
    awaited_by,
    elements_of,
    shown_text,
    subscriptions_of,
    timers_of,
    variables_of,
)
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.times.iso8601 import instant_text

MOST = 200
"""Of each: waits, jobs, incidents, called instances."""
_LONGEST = 1_000
"""Characters of the variables of a moment: there may be hundreds of them, and each may be large."""


class Inside(NamedTuple):
    """What an instance waits for, does and calls. `caller` is the instance that called it.

    What is at an element has its `element_name`.
    """

    waits: list[dict[str, Any]]
    timers: list[dict[str, Any]]
    jobs: list[dict[str, Any]]
    incidents: list[dict[str, Any]]
    called: list[str]
    caller: str


def instance(broker: Broker, key: int) -> dict[str, Any] | Refusal:
    """With what is alive inside, and every variable as JSON."""
    row = _row(broker, key)
    if isinstance(row, Refusal):
        return row
    [item] = list_items.instance_items(broker, [row])
    plan = broker.definitions.by_key[row.definition_key].plan
    elements = []
    for it in elements_of(row):
        element = plan.root if it.scope_key == 0 else plan.elements[it.element_id]
        names = {"element_id": element.id, "name": element.name or element.id, "kind": element.kind}
        state = {"is_root": it.scope_key == 0, "incident_key": str(it.incident_key or "")}
        elements.append({"key": str(it.key), **names, **state})
    scopes = {it["key"]: it["element_id"] for it in elements}
    variables = [
        {
            **{"key": str(it.key), "name": it.name, "scope": scopes.get(str(it.scope_key), "")},
            "value": json_text(broker.hiding.value(it.name, it.value)),
        }
        for it in variables_of(row)
    ]
    return {**to_plain(item), "definition_key": str(row.definition_key), "elements": elements, "variables": variables}


def inside(broker: Broker, key: int) -> Inside | Refusal:
    row = _row(broker, key)
    if isinstance(row, Refusal):
        return row
    elements = elements_of(row)
    jobs = rows_with(broker, "job", [it.job_key for it in elements if it.job_key][:MOST])
    incidents = rows_with(broker, "incident", [it.incident_key for it in elements if it.incident_key][:MOST])
    where = {"tree_key": row.tree_key, "parent_key": Meets((("<>", 0),))}
    others = [it for it in finding.rows(broker, "instance", where, MOST) if it.key != row.key]
    mine = {it.key for it in elements}
    # An ended instance has no elements: whatever belongs to its tree is shown.
    is_ended_root = row.key == row.tree_key and row.state != "active"
    calling = (it.key for it in others if any(element.key == row.parent_key for element in elements_of(it)))
    waits = list_items.subscription_items(broker, subscriptions_of(broker, [row], MOST))
    return Inside(
        _named(broker, row, waits),
        _named(broker, row, timers_of(row)[:MOST]),
        _named(broker, row, list_items.job_items(broker, list(jobs.values()))),
        _named(broker, row, list_items.incident_items(broker, list(incidents.values()))),
        [str(it.key) for it in others if it.parent_key in mine or is_ended_root],
        str(next(calling, row.tree_key)) if row.parent_key else "",
    )


def _named(broker: Broker, row: Any, items: Iterable[Any]) -> list[dict[str, Any]]:
    """In plain values, each with the name of its element."""
    return [{**to_plain(it), "element_name": element_name(broker, row.definition_key, it.element_id)} for it in items]


def _row(broker: Broker, key: int) -> Any:
    return rows_with(broker, "instance", [key]).get(key) or Refusal("NOT_FOUND", f"There is no instance {key}")


def history(broker: Broker, key: int, within_s: float) -> dict[str, Any] | Refusal:
    """Its `moments`, oldest first, and the `messages` that it was given; and what is known of what is missing.

    A moment `is_known` if its message is still there.
    """
    row = _row(broker, key)
    if isinstance(row, Refusal):
        return row
    found = history_of(broker, row, within_s)
    taken = rows_with(broker, "message", [it.message_key for it in found.moments if it.message_key])
    awaited = awaited_by(row)
    moments = [
        {
            **to_plain(it._replace(variables=None, detail=shown_text(broker.hiding, it.detail, row))),
            "at": instant_text(it.at),
            "variables": json_text(broker.hiding.of(it.variables))[:_LONGEST] if it.variables else "",
            "is_known": it.message_key in taken,
            "element_name": element_name(broker, row.definition_key, it.element_id) if it.element_id else "",
            "awaited": _awaited(broker, row, it, awaited),
        }
        for it in found.moments
    ]
    return {
        "moments": moments,
        "messages": [to_plain(it) for it in list_items.message_items(broker, list(taken.values()))],
        "looked_to": instant_text(found.looked_to) if found.looked_to is not None else "",
        "begins_at": instant_text(found.begins_at) if found.begins_at is not None else "",
        "left_out": found.left_out,
    }


def _awaited(broker: Broker, row: Any, it: Any, known: Mapping[int, tuple[str, str]]) -> dict[str, str]:
    """Name and key of the message that a wait which began is for; of one that is long over, what the model says."""
    if it.subscription is None:
        return {}
    name, key = known.get(it.subscription, (message_name(broker, row.definition_key, it.element_id), ""))
    return {"name": name, "key": key}

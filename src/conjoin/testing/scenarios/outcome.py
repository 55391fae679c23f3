"""The outcome of a scenario: everything a user could observe at its end, as plain values in a fixed order.

As JSON it keeps exact numbers: integers of any size stay integers, other numbers are decimals, both ways.
"""

import json
from decimal import Decimal
from typing import Any, Protocol

from conjoin.testing.observing.history import InstanceStory, MessageHistory
from conjoin.testing.observing.open_now import ListedSubscription, OpenIncident, OpenJob, taken_by

Outcome = dict[str, Any]


class EngineView(Protocol):
    """What can be observed of an engine, wherever it keeps its state."""

    @property
    def now(self) -> int: ...
    @property
    def instances(self) -> dict[int, InstanceStory]: ...
    @property
    def messages(self) -> list[MessageHistory]: ...
    def open_subscriptions(self) -> list[ListedSubscription]: ...
    def open_jobs(self) -> list[OpenJob]: ...
    def open_incidents(self) -> list[OpenIncident]: ...


def outcome_of(view: EngineView, steps: list[dict[str, Any]]) -> Outcome:
    instances = view.instances
    number = {key: index for index, key in enumerate(instances)}
    incidents = view.open_incidents()
    return {
        "steps": steps,
        "instances": [_instance(instance, incidents) for instance in instances.values()],
        "messages": [_message(it, view.now, number) for it in view.messages if not it.is_sync],
        "subscriptions": sorted([number[s.instance_key], *s[1:]] for s in view.open_subscriptions()),
        "jobs": sorted([number[j.instance_key], j.element_id, j.type] for j in view.open_jobs()),
    }


def _instance(instance: InstanceStory, incidents: list[OpenIncident]) -> Outcome:
    states: dict[str, list[str]] = {}
    for element in instance.elements.values():
        states.setdefault(element.element_id, []).append(element.state)
    return {
        "process": instance.process_id,
        "version": instance.version,
        "started": instance.started,
        "state": instance.state,
        "elements": {element: sorted(states[element]) for element in sorted(states)},
        "variables": dict(sorted(instance.variables.items())),
        "incidents": sorted([i.element_id, i.error_type] for i in incidents if i.instance_key == instance.key),
    }


def _message(published: MessageHistory, now: int, number: dict[int, int]) -> Outcome:
    message = published.message
    return {
        "name": message.name,
        "key": published.correlation_key,
        "id": message.message_id or None,
        "state": "buffered" if message.deadline > now else "expired",
        "correlated": sorted([number[taken.instance_key], taken.element_id] for taken in taken_by(message)),
    }


def read_json(text: str) -> Any:
    return json.loads(text, parse_float=Decimal)


def as_json(value: Any) -> str:
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(name))}: {as_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(as_json(inner) for inner in value) + "]"
    return json.dumps(value, ensure_ascii=False)

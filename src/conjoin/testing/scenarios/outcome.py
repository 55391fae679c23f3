"""The outcome of a scenario: everything a user could observe at its end, as plain values in a fixed order."""

from collections.abc import Iterable
from typing import Any

from conjoin.runtime.engine import Engine
from conjoin.runtime.history import History, InstanceHistory, MessageHistory
from conjoin.runtime.queries import OpenIncident, open_incidents, open_jobs, open_subscriptions, taken_by

Outcome = dict[str, Any]


def outcome_of(engine: Engine, history: History, steps: list[dict[str, Any]]) -> Outcome:
    number = {key: index for index, key in enumerate(history.instances)}
    incidents = open_incidents(engine)
    return {
        "steps": steps,
        "instances": [_instance(instance, incidents) for instance in history.instances.values()],
        "messages": [_message(told, engine.now, number) for told in history.messages if not told.is_sync],
        "subscriptions": _listed([number[s.instance_key], *s[1:]] for s in open_subscriptions(engine)),
        "jobs": _listed([number[j.instance_key], j.element_id, j.type] for j in open_jobs(engine)),
    }


def _instance(instance: InstanceHistory, incidents: list[OpenIncident]) -> Outcome:
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
        "incidents": _listed([i.element_id, i.error_type] for i in incidents if i.instance_key == instance.key),
    }


def _message(told: MessageHistory, now: int, number: dict[int, int]) -> Outcome:
    message = told.message
    return {
        "name": message.name,
        "key": told.correlation_key,
        "id": message.message_id or None,
        "state": "buffered" if message.deadline > now else "expired",
        "correlated": _listed([number[taken.instance_key], taken.element_id] for taken in taken_by(message)),
    }


def _listed(rows: Iterable[list[Any]]) -> list[list[Any]]:
    return sorted(rows)

"""What elements and processes are called in their models, for pages that people read. Ids stay beside the names."""

from collections.abc import Iterable, Mapping
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.reading.finding import rows_with


def element_name(broker: Broker, definition_key: int, element_id: str) -> str:
    """The id where the model has no name for it, or is gone."""
    found = broker.definitions.by_key.get(definition_key)
    element = None if found is None else found.plan.elements.get(element_id)
    return element_id if element is None else element.name or element_id


def process_name(broker: Broker, definition_key: int) -> str:
    """Empty if the model is gone."""
    found = broker.definitions.by_key.get(definition_key)
    return "" if found is None else found.plan.name or found.process_id


def with_names(broker: Broker, items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Items that are about an element of an instance, each with `element_name` and `process_name`."""
    every = list(items)
    instances = rows_with(broker, "instance", (int(it["instance_key"]) for it in every))
    keys = {key: row.definition_key for key, row in instances.items()}
    named = []
    for it in every:
        definition = keys.get(int(it["instance_key"]), 0)
        called = process_name(broker, definition) or it.get("process_id", "")
        named.append({**it, "element_name": element_name(broker, definition, it["element_id"]), "process_name": called})
    return named


def message_name(broker: Broker, definition_key: int, element_id: str) -> str:
    """Of a message that an element waits for; empty if only an expression knows it."""
    found = broker.definitions.by_key.get(definition_key)
    element = None if found is None else found.plan.elements.get(element_id)
    return str(getattr(getattr(element and element.event, "name", None), "text", "") or "")

"""The policies that were set in a store: what is in force, and every change with its time."""

from typing import Any

from conjoin.kernel.iso8601 import instant_text
from conjoin.runtime.broker import Broker
from conjoin.runtime.encoding.json_text import read_json
from conjoin.runtime.stored_catalog import StoredCatalog


def in_force(catalog: StoredCatalog) -> dict[str, dict[str, Any]]:
    """What is set now, by message name; everything else is answered by the profile."""
    newest = {row.name: read_json(row.policy) for row in catalog.policies_set()}
    return {name: answers for name, answers in newest.items() if answers}


def policies_as_json(broker: Broker) -> dict[str, Any]:
    changes = [
        {
            "catalog_version": row.catalog_version,
            "name": row.name,
            "policy": read_json(row.policy),
            "set_at": instant_text(row.set_at),
        }
        for row in broker.catalog.policies_set()
    ]
    return {"profile": broker.store.facts.profile, "policies": in_force(broker.catalog), "changes": changes}

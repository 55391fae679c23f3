"""Policies as somebody chose them: read for an engine; and in a store what is in force, and every change."""

from collections.abc import Mapping
from typing import Any

from conjoin.errors import PolicyError
from conjoin.kernel.policies import Policies, read_policies
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import read_json
from conjoin.store.rows import PolicyRow
from conjoin.times.iso8601 import instant_text


def chosen_policies(profile: str, changes: Mapping[str, Mapping[str, Any]]) -> Policies:
    """The policies of a profile with changes by message name; raises `PolicyError` with everything that is wrong."""
    policies, problems = read_policies(profile, changes)
    if problems:
        raise PolicyError(problems)
    return policies


def answers_of(row: PolicyRow) -> dict[str, Any]:
    """What was set; nothing, if it cannot be read: then it is not in force, and named among the troubles."""
    try:
        answers: dict[str, Any] = read_json(row.policy)
    except ValueError:
        return {}
    return answers


def policies_as_json(broker: Broker) -> dict[str, Any]:
    changes = [
        {
            "catalog_version": row.catalog_version,
            "name": row.name,
            "policy": answers_of(row),
            "set_at": instant_text(row.set_at),
        }
        for row in broker.catalog.policies_set()
    ]
    return {
        "profile": broker.store.facts.profile,
        "policies": broker.catalog.in_force(),
        "changes": changes,
        "not_in_force": broker.catalog.troubles(),
    }

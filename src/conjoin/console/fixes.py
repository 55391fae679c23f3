"""What would fix a message that nobody took: for each near miss the place to look at, and the action to take.

The near misses are the kernel's. Here they only become links: to an instance, or to the form that sends the message
again with what was wrong put right. Nothing is sent before a person says so.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from conjoin.console.filters import address, microseconds

Said = Mapping[str, Any]
LONGER = "1h"
_UNITS_MS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
_GUESSES = ("key", "name")


class Action(NamedTuple):
    label: str
    href: str


def again(message: Said, **changed: str) -> str:
    """The form, filled with the message and what is changed. Its id is taken only if it is free under what changed."""
    moved = {"name", "key", "tenant"} & set(changed)
    same = {
        "name": message["name"],
        "key": message["correlation_key"],
        "id": message["message_id"] if moved else "",
        "business_id": message["business_id"],
        "tenant": message["tenant_id"],
        "ttl": _ttl(message),
    }
    return address("/console/send", {**same, **changed}, like=message["key"] or "")


def _ttl(message: Said) -> str:
    """As long as it was kept; empty for one that was not, or for ever."""
    since, until = microseconds(message["published_at"]), microseconds(message["deadline_at"])
    if since is None or until is None or until <= since:
        return ""
    ms = (until - since) // 1_000
    return next(f"{ms // size}{unit}" for size, unit in _UNITS_MS if ms % size == 0)


def _instance(miss: Said, label: str) -> Action:
    return Action(label, f"/console/instances/{miss['instance']}")


def _other_name(message: Said, miss: Said) -> Action:
    return Action(f"Publish again as “{miss['name']}”", again(message, name=miss["name"]))


def _never_awaited(message: Said, miss: Said) -> Action:
    if not miss.get("similar"):
        return Action("See what the models wait for", "/console/models")
    return Action(f"Publish again as “{miss['similar']}”", again(message, name=miss["similar"]))


_MENDS: dict[str, Callable[[Said, Said], Action]] = {
    "other_key": lambda message, miss: Action(
        f"Publish again with key “{miss['key']}”", again(message, key=miss["key"])
    ),
    "other_name": _other_name,
    "never_awaited": _never_awaited,
    "other_tenant": lambda message, miss: Action(
        f"Publish again in tenant “{miss['tenant']}”", again(message, tenant=miss["tenant"])
    ),
    "other_business_id": lambda message, miss: Action(
        "Publish again with its business id", again(message, business_id=miss.get("business_id") or "")
    ),
    "expired_before": lambda message, miss: Action(
        "Publish again with a longer time to live", again(message, ttl=LONGER)
    ),
    "closed_before": lambda message, miss: _instance(miss, "See why it stopped waiting"),
    "lock_held": lambda message, miss: _instance(miss, "See the instance that holds the key"),
    "business_id_held": lambda message, miss: _instance(miss, "See the instance that holds the id"),
    "taken_by_process": lambda message, miss: _instance(miss, "See who has it"),
    "incident": lambda message, miss: _instance(miss, "Fix the incident"),
}


def fix(message: Said, miss: Said) -> Action | None:
    """None: there is nothing to do but wait."""
    found = _MENDS.get(miss["kind"])
    return found(message, miss) if found else None


def with_fixes(message: Said, misses: list[Said]) -> list[dict[str, Any]]:
    """Each with its action, and whether it is a guess: somebody waits for the same name with quite another key."""
    return [{**miss, "action": fix(message, miss), "is_guess": miss.get("differs") in _GUESSES} for miss in misses]

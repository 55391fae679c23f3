"""What would fix a message that was not taken: for each near miss where to look, and the action to take.

The near misses are the kernel's. Here they only become links: to an instance, or to the form that sends the message
again with what was wrong put right. Nothing is sent before the operator submits it.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from conjoin.console.filters import address, microseconds

Facts = Mapping[str, Any]
LONGER = "1h"
_UNITS_MS = ((86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1_000, "s"), (1, "ms"))
_GUESSES = ("key", "name")


class Action(NamedTuple):
    label: str
    href: str


def again(message: Facts, **changed: str) -> str:
    """The form, filled with the message and what is changed. Its id is taken only if it is free under what changed."""
    moved = {"name", "key", "tenant"} & set(changed)
    same = {
        "name": message["name"],
        "key": message["correlation_key"],
        "id": message["message_id"] if moved else "",
        "business_id": message["business_id"],
        "tenant": message["tenant_id"],
        "ttl": _ttl(message),
        # In another tenant it is another message.
        "replaces": "" if "tenant" in changed else message.get("replaces", ""),
    }
    return address("/console/send", {**same, **changed}, like=message["key"] or "")


def _ttl(message: Facts) -> str:
    """As long as it was kept; empty for one that was not, or for ever."""
    since, until = microseconds(message["published_at"]), microseconds(message["deadline_at"])
    if since is None or until is None or until <= since:
        return ""
    ms = (until - since) // 1_000
    return next(f"{ms // size}{unit}" for size, unit in _UNITS_MS if ms % size == 0)


_SAME_AGAIN: dict[str, tuple[str, str, str]] = {
    "other_key": ("Publish again with key “{}”", "key", "key"),
    "other_name": ("Publish again as “{}”", "name", "name"),
    "never_awaited": ("Publish again as “{}”", "name", "similar"),
    "other_tenant": ("Publish again in tenant “{}”", "tenant", "tenant"),
    "other_business_id": ("Publish again with its business id", "business_id", "business_id"),
}
"""The label, the field of the message that changes, and the field of the near miss that it changes to."""
_OF_INSTANCES = {
    "closed_before": "See why it stopped waiting",
    "lock_held": "See the instance that holds the key",
    "business_id_held": "See the instance that holds the id",
    "taken_by_process": "See who has it",
    "incident": "Fix the incident",
}


def fix(message: Facts, miss: Facts) -> Action | None:
    """None: there is nothing to do but wait."""
    kind = miss["kind"]
    if kind in _OF_INSTANCES:
        return Action(_OF_INSTANCES[kind], f"/console/instances/{miss['instance']}")
    if kind == "expired_before":
        return Action("Publish again with a longer time to live", again(message, ttl=LONGER))
    if kind == "too_early":
        return None if miss.get("kept") else _keep(message, miss)
    if kind == "never_awaited" and not miss.get("similar"):
        return Action("See what the models wait for", "/console/models")
    if kind not in _SAME_AGAIN or miss.get("cut"):
        return None
    label, field, source = _SAME_AGAIN[kind]
    value = miss.get(source) or ""
    return Action(label.format(value), again(message, **{field: value}))


def _keep(message: Facts, miss: Facts) -> Action:
    keep = str(miss.get("keep") or LONGER)
    return Action(f"Publish again with a time to live of {keep}", again(message, ttl=keep))


def with_fixes(message: Facts, misses: list[Facts]) -> list[dict[str, Any]]:
    """Each with its action, and whether it is a guess: something waits for the same name with quite another key."""
    return [{**miss, "action": fix(message, miss), "is_guess": miss.get("differs") in _GUESSES} for miss in misses]


_CORRECTIONS = {"other_key": ("key", "key"), "other_name": ("name", "name"), "never_awaited": ("name", "similar")}
"""Of a message that is in the inbox: the field of its form, and the field of the near miss that it is set to."""


def with_corrections(path: str, misses: list[Facts]) -> list[dict[str, Any]]:
    """For a message of the inbox: the form comes filled with what would be right."""
    return [{**miss, "action": _correction(path, miss), "is_guess": miss.get("differs") in _GUESSES} for miss in misses]


def _correction(path: str, miss: Facts) -> Action | None:
    kind = miss["kind"]
    if kind in _OF_INSTANCES:
        return Action(_OF_INSTANCES[kind], f"/console/instances/{miss['instance']}")
    field, source = _CORRECTIONS.get(kind, ("", ""))
    value = miss.get(source) or ""
    return Action(f"Correct the {field} to “{value}”", f"{address(path, {field: value})}#correct") if value else None

"""Scope: of which tenants, messages and processes somebody may be told. A broker has one; by itself it is everything.

Rows are narrowed where they are read. What is said of a key goes through here instead, since a key is loaded whole: the
rules need all of it, and whoever asks is told of the part that is theirs.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_OF_A_PROCESS = ("process", "instance", "element", "subscription", "first_instance", "waiting_instance")


class VisibleScope:
    def sees(self, tenant_id: str, message: str | None = None, process: str | None = None) -> bool:
        """None: whatever it is."""
        return True


EVERYTHING = VisibleScope()


def seen_misses(
    scope: VisibleScope, tenant_id: str, name: str, misses: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    for miss in misses:
        tenant = miss.get("tenant", tenant_id)
        if scope.sees(tenant, miss.get("name", name), miss.get("process")):
            yield _with_seen_names(scope, tenant, miss)


def _with_seen_names(scope: VisibleScope, tenant_id: str, miss: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of a name that nobody awaits: which one is similar, and which processes compute theirs."""
    seen = dict(miss)
    if "similar" in seen and not scope.sees(tenant_id, seen["similar"]):
        del seen["similar"]
    if "computed" in seen:
        seen["computed"] = [it for it in seen["computed"] if scope.sees(tenant_id, None, it)]
        if not seen["computed"]:
            del seen["computed"]
    return seen


def seen_parameters(scope: VisibleScope, tenant_id: str, name: str, said: Mapping[str, Any]) -> dict[str, Any]:
    """Of a verdict other than correlated: who has a message is told to whoever may read it."""
    if scope is EVERYTHING:
        return dict(said)
    seen = dict(said)
    if "process" in seen and not scope.sees(tenant_id, name, seen["process"]):
        seen = {field: value for field, value in seen.items() if field not in _OF_A_PROCESS}
    late = seen.get("next_subscription")
    if late is not None and not scope.sees(tenant_id, name, late["process"]):
        del seen["next_subscription"]
    if "processes" in seen:
        seen["processes"] = [it for it in seen["processes"] if scope.sees(tenant_id, name, it)] or ["?"]
    if "candidates" in seen:
        # Instances and processes mixed, and no more than ten: their number says enough.
        seen["candidates"] = ["?"]
    return seen

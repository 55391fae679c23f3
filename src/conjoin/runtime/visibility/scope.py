"""Scope: which tenants, messages and processes a caller may see. A broker has one; by default it is everything.

Rows are narrowed where they are read. Explanations of a key go through here instead, since a key is loaded whole: the
rules need all of it, and the caller sees the part that is theirs.
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
        tenant, seen = miss.get("tenant", tenant_id), dict(miss)
        if not scope.sees(tenant, miss.get("name", name), miss.get("process")):
            continue
        # Of a name that nothing awaits: which one is similar, and which processes compute theirs.
        if "similar" in seen and not scope.sees(tenant, seen["similar"]):
            del seen["similar"]
        computed = [it for it in seen.pop("computed", ()) if scope.sees(tenant, None, it)]
        yield {**seen, "computed": computed} if computed else seen


def seen_parameters(scope: VisibleScope, tenant_id: str, name: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Of a verdict other than correlated: a caller who may read a message may know its receivers."""
    seen = dict(parameters)
    if scope is EVERYTHING:
        return seen
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

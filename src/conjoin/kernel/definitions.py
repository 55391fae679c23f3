"""Definitions: the deployed versions of every process, as the process half of the kernel looks them up.

A definition is a plan under a key of its own. The collection only grows; it is an argument of the rules and never
changed by them. `latest` follows from the versions.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from conjoin.kernel.plan import Element, Plan


@dataclass(slots=True, eq=False)
class Definition:
    key: int
    version: int
    tenant_id: str
    plan: Plan
    reach: dict[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """What was found out about the plan while it ran: from an element, the ways into an inclusive gateway."""
    merging: dict[str, tuple[Element, ...]] = field(default_factory=dict)
    """The inclusive gateways with several ways in, by the id of their scope."""
    targets: dict[str, Element] = field(default_factory=dict)
    """Where flows lead, if there are such gateways."""

    def __post_init__(self) -> None:
        merging: dict[str, list[Element]] = {}
        for element in self.plan.elements.values():
            if element.kind == "inclusive_gateway" and len(element.incoming) > 1 and element.scope is not None:
                merging.setdefault(element.scope.id, []).append(element)
        self.merging = {scope: tuple(gateways) for scope, gateways in merging.items()}
        if merging:
            incoming = [flow for element in self.plan.elements.values() for flow in element.incoming]
            self.targets = {flow.id: flow.target for flow in incoming}

    @property
    def process_id(self) -> str:
        return self.plan.process_id


class Definitions:
    """Every version that was deployed, by key and by process."""

    __slots__ = ("by_key", "versions")

    def __init__(self, definitions: Iterable[Definition] = ()) -> None:
        self.by_key: dict[int, Definition] = {}
        self.versions: dict[tuple[str, str], list[Definition]] = {}
        for definition in definitions:
            self.add(definition)

    def add(self, definition: Definition) -> None:
        self.by_key[definition.key] = definition
        self.versions.setdefault((definition.tenant_id, definition.process_id), []).append(definition)

    def latest(self, tenant_id: str, process_id: str) -> Definition | None:
        versions = self.versions.get((tenant_id, process_id))
        return versions[-1] if versions else None

    def version(self, tenant_id: str, process_id: str, version: int) -> Definition | None:
        versions = self.versions.get((tenant_id, process_id), ())
        return next((definition for definition in versions if definition.version == version), None)

    def all_latest(self) -> list[Definition]:
        return [versions[-1] for versions in self.versions.values()]

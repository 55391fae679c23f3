"""What the stories of all keys share: the catalog as it was at each version, and as it would have been.

It is made once, where the store is open, and shipped to the workers: plain values, no plans.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import Message
from conjoin.kernel.policies import Policies
from conjoin.pipeline.what_if.question import Question
from conjoin.pipeline.what_if.reach import Names, Process, Reach, reaches_of, starters_of
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.stored_catalog import CatalogVersions

NEW = "new"
"""The id of an instance that was never started, and would have been."""


class Version(NamedTuple):
    """One version of the catalog, as far as correlation looks at it."""

    starts: Sequence[StartSubscription]
    policies: Policies
    inbox_policies: Policies


@dataclass
class WhatIfRules:
    question: Question
    versions: Mapping[int, Version]
    reaches: Mapping[Process, Reach]
    starters: Mapping[tuple[str, str], tuple[str, ...]]
    """The processes that a message starts, by tenant and name."""
    roots: Mapping[int, tuple[int, str]] = field(default_factory=dict)
    """Of called instances: whoever called first, and of which process that is."""
    stuck: Mapping[int, int] = field(default_factory=dict)
    """Since when an instance has had an incident: it may refuse what it is given."""

    def names_after(self, tenant_id: str, process_id: str, element_id: str | None) -> Names:
        reach = self.reaches.get((tenant_id, process_id), Reach())
        return reach.after.get(element_id or "", reach.whole)

    def whole(self, tenant_id: str, process_id: str) -> Names:
        return self.reaches.get((tenant_id, process_id), Reach()).whole

    def start_names(self, tenant_id: str, process_id: str) -> list[str]:
        return sorted(self.reaches.get((tenant_id, process_id), Reach()).starts)


def read_rules(broker: Broker, question: Question) -> WhatIfRules:
    """Plans are compiled here, so that the workers that fold need not."""
    with broker.store.frozen() as frozen:
        catalog = CatalogVersions(frozen, broker.store.facts.profile)
    versions = {}
    for number in range(catalog.newest + 1):
        view = catalog.at(number)
        latest = view.definitions.all_latest()
        starts = tuple(start for it in latest for start in view.deployments.starts_of(it))
        versions[number] = Version(starts, view.policies, view.inbox_policies)
    reaches = reaches_of(catalog.at(catalog.newest).definitions)
    return WhatIfRules(question, versions, reaches, starters_of(reaches))


class Catalogs:
    """The catalogs that the kernel reads, in a worker. Instances are called what they were called."""

    def __init__(self, rules: WhatIfRules) -> None:
        self._rules = rules
        self._made: dict[tuple[int, bool], tuple[Catalog, Policies]] = {}
        self._started: Mapping[str, int] = {}
        self._starters: dict[str, Any] = {}

    def begin(self, started: Mapping[str, int]) -> None:
        """A command has started these instances, by process."""
        self._started, self._starters = started, {}

    def at(self, version: int, supposed: bool) -> tuple[Catalog, Policies]:
        """With the policies for messages of the inbox."""
        found = self._made.get((version, supposed))
        if found is None:
            found = self._made[version, supposed] = self._make(self._rules.versions[version], supposed)
        return found

    def _make(self, version: Version, supposed: bool) -> tuple[Catalog, Policies]:
        policies, inbox = version.policies, version.inbox_policies
        if not supposed:
            return Catalog(version.starts, policies, self._recorded_instance), inbox
        change = self._rules.question.policies
        return Catalog(version.starts, change(policies), self._supposed_instance), change(inbox)

    def _recorded_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> Any:
        self._starters[start.process_id] = message.key
        return self._started.get(start.process_id, NEW)

    def _supposed_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> Any:
        """The same one only if the same message starts it."""
        is_same = self._starters.get(start.process_id) == message.key
        return self._started.get(start.process_id, NEW) if is_same else NEW

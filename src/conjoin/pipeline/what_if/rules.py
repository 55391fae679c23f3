"""What all keys share: the catalog as it was at each version and as it would have been, and the reach of each process.

It is made once, where the store is open, and shipped to the workers: plain values, no plans. The reach of a process are
the message names that an instance may come to wait for, once it goes another way than it did. It is read off the models
alone, so it holds whatever variables, jobs and timers do. It may name too much and never too little: where a model
cannot tell (a name that is an expression, a signal that others hear), it is any name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import Message
from conjoin.kernel.definitions import Definition, Definitions
from conjoin.kernel.plan import Element, Literal, MessageDefinition, Plan, SignalDefinition
from conjoin.kernel.policies import Policies
from conjoin.pipeline.what_if.question import Question
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.stored_catalog import CatalogVersions

NEW = "new"
"""The id of an instance that was never started, and would have been."""
ANY_NAME = ""
"""Stands for every name; no message has it."""

Names = frozenset[str]
_ANY: Names = frozenset((ANY_NAME,))
_THROWS = ("throw_event", "end_event")
_CHOOSES_ONE = ("exclusive_gateway", "event_gateway")


@dataclass(slots=True)
class Reach:
    """Of one process, all its versions together."""

    starts: Names = frozenset()
    """The messages that start it."""
    whole: Names = frozenset()
    """What it may wait for at all, with whom it calls."""
    after: dict[str, Names] = field(default_factory=dict)
    """What it may wait for anew when a message reaches, or fails to reach, the element with this id."""


Process = tuple[str, str]
"""Tenant and process id."""


def reaches_of(definitions: Definitions) -> dict[Process, Reach]:
    found: dict[Process, Reach] = {}
    for process, versions in definitions.versions.items():
        reach = found[process] = Reach()
        for definition in versions:
            _add(reach, definition, definitions)
    return found


def _add(reach: Reach, definition: Definition, definitions: Definitions) -> None:
    plan, names = definition.plan, _AwaitedNames(definitions, definition.tenant_id)
    reach.starts |= {name for start in plan.starts for name in _name_of(start)}
    reach.whole |= names.of_plan(plan)
    single = has_one_token(plan)
    for element in plan.elements.values():
        if isinstance(element.event, MessageDefinition) or element.kind == "receive_task":
            after = names.of_all(reachable_after(element)) if single else names.of_plan(plan)
            reach.after[element.id] = reach.after.get(element.id, frozenset()) | after


def has_one_token(plan: Plan) -> bool:
    """Is there never more than one token in an instance? Then all that follows, follows the element it is at."""
    for element in plan.elements.values():
        ways = len(element.outgoing) + (element.default is not None)
        if element.loop is not None or not element.interrupting:
            return False
        if ways > 1 and element.kind not in _CHOOSES_ONE:
            return False
    return True


def reachable_after(element: Element) -> Iterable[Element]:
    """Everything that may be entered after a token that waits at an element has moved, whichever way it goes."""
    host = _host(element)
    todo = [*_ways_out(host), *_inside(host)]
    scope = host.scope
    while scope is not None:
        todo += [*_ways_out(scope), *scope.event_subprocesses]
        scope = scope.scope
    seen: dict[str, Element] = {}
    while todo:
        entered = todo.pop()
        if entered.id not in seen:
            seen[entered.id] = entered
            todo += [*_ways_out(entered), *_inside(entered), *entered.boundaries]
    return seen.values()


def _host(element: Element) -> Element:
    """Where the token is that waits for the element's message."""
    if element.attached_to is not None:
        return element.attached_to
    scope = element.scope
    if element.kind == "start_event" and scope is not None and scope.kind == "event_subprocess":
        return scope.scope or scope
    before = [flow.source for flow in element.incoming if flow.source.kind == "event_gateway"]
    return before[0] if before else element


def _ways_out(element: Element) -> list[Element]:
    flows = [*element.outgoing, *(flow for boundary in element.boundaries for flow in boundary.outgoing)]
    flows += [element.default] if element.default else []
    return [*(flow.target for flow in flows), *([element.link_target] if element.link_target else [])]


def _inside(element: Element) -> list[Element]:
    return [*([element.start] if element.start else []), *element.event_subprocesses]


class _AwaitedNames:
    """The names that elements wait for, with those of the processes that they call."""

    def __init__(self, definitions: Definitions, tenant_id: str) -> None:
        self._definitions = definitions
        self._tenant_id = tenant_id

    def of_plan(self, plan: Plan, callers: tuple[str, ...] = ()) -> Names:
        starts = {start.id for start in plan.starts}
        inner = (element for element in plan.elements.values() if element.id not in starts)
        return self.of_all(inner, (*callers, plan.process_id))

    def of_all(self, elements: Iterable[Element], callers: tuple[str, ...] = ()) -> Names:
        found: set[str] = set()
        for element in elements:
            if isinstance(element.event, SignalDefinition) and element.kind in _THROWS:
                return _ANY
            found.update(_name_of(element))
            if element.call is not None:
                found |= self._called(element.call.process_id, callers)
        return _ANY if ANY_NAME in found else frozenset(found)

    def _called(self, process_id: object, callers: tuple[str, ...]) -> Names:
        if not isinstance(process_id, Literal):
            return _ANY
        if process_id.value in callers:
            return frozenset()
        versions = self._definitions.versions.get((self._tenant_id, process_id.value), [])
        return frozenset().union(*(self.of_plan(it.plan, callers) for it in versions))


def _name_of(element: Element) -> Iterator[str]:
    if isinstance(element.event, MessageDefinition):
        name = element.event.name
        yield name.value if isinstance(name, Literal) else ANY_NAME


def starters_of(reaches: Mapping[Process, Reach]) -> dict[tuple[str, str], tuple[str, ...]]:
    """Which processes a message name starts, by tenant and name."""
    found: dict[tuple[str, str], list[str]] = {}
    for (tenant_id, process_id), reach in reaches.items():
        for name in sorted(reach.starts):
            found.setdefault((tenant_id, name), []).append(process_id)
    return {started_by: tuple(processes) for started_by, processes in found.items()}


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

    def reach(self, tenant_id: str, process_id: str) -> Reach:
        return self.reaches.get((tenant_id, process_id)) or Reach()

    def start_names(self, tenant_id: str, process_id: str) -> list[str]:
        return sorted(self.reach(tenant_id, process_id).starts)


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
    """The catalogs that the kernel reads, in a worker. Instances keep their recorded ids."""

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
        if (version, supposed) not in self._made:
            starts, policies, inbox = self._rules.versions[version]
            instance = self._supposed_instance if supposed else self._recorded_instance
            if supposed:
                policies, inbox = map(self._rules.question.policies, (policies, inbox))
            self._made[version, supposed] = Catalog(starts, policies, instance), inbox
        return self._made[version, supposed]

    def _recorded_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> Any:
        self._starters[start.process_id] = message.key
        return self._started.get(start.process_id, NEW)

    def _supposed_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> Any:
        """The same one only if the same message starts it."""
        is_same = self._starters.get(start.process_id) == message.key
        return self._started.get(start.process_id, NEW) if is_same else NEW

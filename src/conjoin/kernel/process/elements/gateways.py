"""Gateways: which ways a token takes, and which tokens wait for each other.

A parallel gateway waits for one token of each way in. An inclusive gateway waits as long as a token in its scope may
still come by a way that none has come by yet.
"""

from collections.abc import Iterable, Iterator, Sequence

from conjoin.kernel.definitions import Definition
from conjoin.kernel.plan import Element, Flow
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.events import ElementCompleted, ElementPassed, TokensJoined
from conjoin.kernel.process.rules.entering import enter_waiting
from conjoin.kernel.process.rules.tokens import check_joins, close_waits, enter, go_on, joins
from conjoin.kernel.process.rules.variables import together, visible
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import CONDITION_ERROR, Failure, Own, Step
from conjoin.kernel.process.values import boolean_value

_MOST_REMEMBERED = 20_000


def choose(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """The first flow whose condition is true, else the default."""
    _pass(step, command, element, scope, _chosen(step, element, scope, only_first=True))


def choose_all(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """Every way out whose condition is true; those that were taken are joined."""
    resumed = command.key in step.state.elements
    if joins(element) and not resumed:
        flows = _joined_by_those_that_can(scope, element)
        if flows is None:
            return
        step.out.append(TokensJoined(element.id, scope.key, flows))
    _pass(step, command, element, scope, _chosen(step, element, scope, only_first=False))


def join_and_split(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """One token of each way in is waited for; then every way out is taken."""
    if joins(element):
        arrived = scope.arrived or {}
        flows = tuple(flow.id for flow in element.incoming)
        if not all(flow in arrived for flow in flows):
            return
        step.out.append(TokensJoined(element.id, scope.key, flows))
    _pass(step, command, element, scope, element.outgoing)


def wait_for_first(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """The events behind it are waited for, and the first that comes decides (K1-K3)."""
    step.own = None
    enter_waiting(step, command, scope, None, [flow.target for flow in element.outgoing])


def go_to_first(step: Step, it: ElementInstance) -> None:
    trigger = it.trigger
    if trigger is None:
        return
    assert it.scope is not None
    close_waits(step, it)
    step.out.append(ElementCompleted(it.key))
    catch = it.instance.definition.plan.elements[trigger.element_id]
    enter(step, it.scope.key, catch, trigger.variables or {})
    check_joins(step, it.scope)


def _pass(step: Step, command: ActivateElement, element: Element, scope: Scope, flows: Sequence[Flow]) -> None:
    step.out.append(ElementPassed(command.key, element.id, scope.key))
    go_on(step, scope, flows)


def _chosen(step: Step, element: Element, scope: Scope, only_first: bool) -> list[Flow]:
    step.own = None
    view = together(visible(step, scope), len(element.outgoing))
    taken: list[Flow] = []
    for flow in element.outgoing:
        if flow.condition is None or boolean_value(flow.condition, view, step.at, f"condition of flow {flow.id}"):
            taken.append(flow)
            if only_first:
                break
    if taken or not (element.outgoing or element.default):
        return taken
    if element.default is not None:
        return [element.default]
    raise Failure(CONDITION_ERROR, "no condition of an outgoing flow is true, and there is no default flow")


def _joined_by_those_that_can(scope: Scope, gateway: Element) -> tuple[str, ...] | None:
    """The flows whose tokens become one, or None while a token may still come by another."""
    arrived, definition = scope.arrived or {}, scope.instance.definition
    come = tuple(flow.id for flow in gateway.incoming if flow.id in arrived)
    missing = {flow.id for flow in gateway.incoming if flow.id not in arrived}
    if not come:
        return None
    for element in _places(scope, definition, gateway) if missing else ():
        if not missing.isdisjoint(_ways_into(definition, element, gateway)):
            return None
    return come


def _places(scope: Scope, definition: Definition, gateway: Element) -> Iterator[Element]:
    """Where the tokens of the scope are: at rest, on their way, or waiting at another gateway."""
    for child in scope.children():
        yield child.element
    for element_id in scope.moving or ():
        yield definition.plan.elements[element_id]
    for flow_id in scope.arrived or ():
        waiting_at = definition.targets.get(flow_id)
        if waiting_at is not None and waiting_at is not gateway:
            yield waiting_at


def _ways_into(definition: Definition, element: Element, gateway: Element) -> frozenset[str]:
    """The flows by which a token at the element may come to the gateway."""
    place = (element.id, gateway.id)
    found = definition.reach.get(place)
    if found is None:
        if len(definition.reach) >= _MOST_REMEMBERED:
            definition.reach.clear()
        found = definition.reach[place] = frozenset(_walk(element, gateway))
    return found


def _walk(element: Element, gateway: Element) -> list[str]:
    seen: dict[str, None] = {}
    into: list[str] = []
    ahead = [] if element is gateway else list(_flows_out(element))
    while ahead:
        flow = ahead.pop()
        if flow.id in seen:
            continue
        seen[flow.id] = None
        if flow.target is gateway:
            into.append(flow.id)
        else:
            ahead.extend(_flows_out(flow.target))
    return into


def _flows_out(element: Element) -> Iterable[Flow]:
    yield from element.outgoing
    if element.default is not None:
        yield element.default
    for boundary in element.boundaries:
        yield from boundary.outgoing
    if element.link_target is not None:
        yield from element.link_target.outgoing

"""Gateways: which ways a token takes, and which tokens wait for each other."""

from conjoin.kernel.plan import Element, Flow
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.events import ElementCompleted, ElementPassed, TokensJoined
from conjoin.kernel.process.rules.entering import Own, enter_waiting, stuck
from conjoin.kernel.process.rules.joining import joined_by_all, joined_by_those_that_can
from conjoin.kernel.process.rules.tokens import check_joins, close_waits, enter, go_on, joins
from conjoin.kernel.process.rules.variables import together, visible
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import CONDITION_ERROR, Failure, Step
from conjoin.kernel.process.values import boolean_value


def _choose(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """The first flow whose condition is true, else the default."""
    _go_on(step, command, element, scope, only_first=True)


def _choose_all(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """Every way out whose condition is true; those that were taken are joined."""
    resumed = command.key in step.state.elements
    if joins(element) and not resumed:
        flows = joined_by_those_that_can(scope, element)
        if flows is None:
            return
        step.out.append(TokensJoined(element.id, scope.key, flows))
    _go_on(step, command, element, scope, only_first=False)


def _go_on(step: Step, command: ActivateElement, element: Element, scope: Scope, only_first: bool) -> None:
    taken = _ways_out(step, element, scope, only_first)
    if isinstance(taken, Failure):
        stuck(step, command, None, taken)
        return
    step.out.append(ElementPassed(command.key, element.id, scope.key))
    go_on(step, scope, taken)


def _ways_out(step: Step, element: Element, scope: Scope, only_first: bool) -> tuple[Flow, ...] | Failure:
    view = together(visible(step, scope), len(element.outgoing))
    taken: list[Flow] = []
    for flow in element.outgoing:
        chosen = flow.condition is None or boolean_value(flow.condition, view, step.at, f"condition of flow {flow.id}")
        if isinstance(chosen, Failure):
            return chosen
        if chosen:
            taken.append(flow)
            if only_first:
                break
    if taken or not (element.outgoing or element.default):
        return tuple(taken)
    if element.default is not None:
        return (element.default,)
    return Failure(CONDITION_ERROR, "no condition of an outgoing flow is true, and there is no default flow")


def _join_and_split(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """One token of each way in is waited for; then every way out is taken."""
    if joins(element):
        flows = joined_by_all(scope, element)
        if flows is None:
            return
        step.out.append(TokensJoined(element.id, scope.key, flows))
    step.out.append(ElementPassed(command.key, element.id, scope.key))
    go_on(step, scope, element.outgoing)


def _wait_for_first(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """The events behind it are waited for, and the first that comes decides (K1-K3)."""
    enter_waiting(step, command, scope, None, [flow.target for flow in element.outgoing])


def _go_to_first(step: Step, it: ElementInstance) -> None:
    trigger = it.trigger
    if trigger is None:
        return
    assert it.scope is not None
    close_waits(step, it)
    step.out.append(ElementCompleted(it.key))
    catch = it.instance.definition.plan.elements[trigger.element_id]
    enter(step, it.scope, catch, trigger.variables or {})
    check_joins(step, it.scope)


EXCLUSIVE_GATEWAY = Behaviour(_choose)
INCLUSIVE_GATEWAY = Behaviour(_choose_all)
PARALLEL_GATEWAY = Behaviour(_join_and_split)
EVENT_GATEWAY = Behaviour(_wait_for_first, _go_to_first)

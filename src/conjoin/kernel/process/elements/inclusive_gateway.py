"""An inclusive gateway: takes every way out whose condition is true, and joins those that were taken."""

from conjoin.kernel.plan import Element, Flow
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.events import ElementPassed, TokensJoined
from conjoin.kernel.process.rules.entering import Own, stuck
from conjoin.kernel.process.rules.joining import joined_by_those_that_can
from conjoin.kernel.process.rules.tokens import go_on, joins
from conjoin.kernel.process.rules.variables import together, visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import CONDITION_ERROR, Failure, Step
from conjoin.kernel.process.values import boolean_value


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    resumed = command.key in step.state.elements
    if joins(element) and not resumed:
        flows = joined_by_those_that_can(scope, element)
        if flows is None:
            return
        step.out.append(TokensJoined(element.id, scope.key, flows))
    taken = _ways_out(step, element, scope)
    if isinstance(taken, Failure):
        stuck(step, command, None, taken)
        return
    step.out.append(ElementPassed(command.key, element.id, scope.key))
    go_on(step, scope, taken)


def _ways_out(step: Step, element: Element, scope: Scope) -> tuple[Flow, ...] | Failure:
    view = together(visible(step, scope), len(element.outgoing))
    taken: list[Flow] = []
    for flow in element.outgoing:
        chosen = flow.condition is None or boolean_value(flow.condition, view, step.at, f"condition of flow {flow.id}")
        if isinstance(chosen, Failure):
            return chosen
        if chosen:
            taken.append(flow)
    if taken or not (element.outgoing or element.default):
        return tuple(taken)
    if element.default is not None:
        return (element.default,)
    return Failure(CONDITION_ERROR, "no condition of an outgoing flow is true, and there is no default flow")


BEHAVIOUR = Behaviour(activate)

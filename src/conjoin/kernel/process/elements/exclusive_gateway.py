"""An exclusive gateway: the first flow whose condition is true, else the default."""

from conjoin.kernel.plan import Element, Flow
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.events import ElementPassed
from conjoin.kernel.process.rules.entering import Own, stuck
from conjoin.kernel.process.rules.tokens import go_on
from conjoin.kernel.process.rules.variables import together, visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import CONDITION_ERROR, Failure, Step
from conjoin.kernel.process.values import boolean_value


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    flows = _way_out(step, element, scope)
    if isinstance(flows, Failure):
        stuck(step, command, None, flows)
        return
    step.out.append(ElementPassed(command.key, element.id, scope.key))
    go_on(step, scope, flows)


def _way_out(step: Step, element: Element, scope: Scope) -> tuple[Flow, ...] | Failure:
    view = together(visible(step, scope), len(element.outgoing))
    for flow in element.outgoing:
        chosen = flow.condition is None or boolean_value(flow.condition, view, step.at, f"condition of flow {flow.id}")
        if isinstance(chosen, Failure):
            return chosen
        if chosen:
            return (flow,)
    if element.default is not None:
        return (element.default,)
    if not element.outgoing:
        return ()
    return Failure(CONDITION_ERROR, "no condition of an outgoing flow is true, and there is no default flow")


BEHAVIOUR = Behaviour(activate)

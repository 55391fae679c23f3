"""A script task (or a business rule) written as an expression: its result goes into a variable."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement, CompleteElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.events import ElementTriggered
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import Own, entered_with_waits, stuck, waits_of
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Failure, Step
from conjoin.kernel.process.values import stored_value


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    view = visible(step, scope, own)
    prepared = prepare(step, waits_of(element, scope), view, scope.instance)
    if isinstance(prepared, Failure):
        stuck(step, command, own, prepared)
        return
    script = element.script
    assert script is not None
    value = stored_value(script.expression, view, step.at, "result")
    if isinstance(value, Failure):
        stuck(step, command, own, value)
        return
    result = {script.result_variable: value}
    entered_with_waits(step, command, scope, own, prepared)
    step.out.append(ElementTriggered(command.key, element.id, result))
    step.out.append(CompleteElement(command.key, step.at))


BEHAVIOUR = Behaviour(activate)

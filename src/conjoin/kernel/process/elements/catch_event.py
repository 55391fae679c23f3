"""An intermediate catch event: it waits for a message, a timer or a signal.

Behind an event-based gateway, or as the target of a link, what it catches has already come: it only passes.
"""

from conjoin.kernel.plan import Element, LinkDefinition
from conjoin.kernel.process.commands import ActivateElement, CompleteElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import Own, entered, entered_with_waits, stuck
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Failure, Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if command.variables is not None or type(element.event) is LinkDefinition:
        entered(step, command, command.variables)
        step.out.append(CompleteElement(command.key, step.at))
        return
    prepared = prepare(step, (element,), visible(step, scope, own), scope.instance)
    if type(prepared) is Failure:
        stuck(step, command, own, prepared)
    else:
        entered_with_waits(step, command, scope, own, prepared)


BEHAVIOUR = Behaviour(activate)

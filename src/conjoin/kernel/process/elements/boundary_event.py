"""A boundary event that has happened. Waiting for it is its activity's business; here it only passes."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement, CompleteElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.entering import Own, entered
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    entered(step, command, command.variables)
    step.out.append(CompleteElement(command.key, step.at))


BEHAVIOUR = Behaviour(activate)

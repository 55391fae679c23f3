"""An event subprocess that has begun. Waiting for its start event is the business of the scope around it."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.elements.subprocess import begin_inside, terminate
from conjoin.kernel.process.rules.entering import Own, entered
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    entered(step, command, own)
    begin_inside(step, command.key, element, command.variables)


BEHAVIOUR = Behaviour(activate, terminate=terminate)

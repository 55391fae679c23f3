"""A task that somebody outside does: service, send, business rule and script tasks, and user tasks of the job form."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.entering import Own
from conjoin.kernel.process.rules.jobs import enter_with_job
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    enter_with_job(step, command, element, scope, own)


BEHAVIOUR = Behaviour(activate)

"""A user task of Zeebe's own form: it waits for a person, and no worker sees it as a job.

It is kept as a job of a type that cannot be activated, so that completing it and its incidents need no second way.
"""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.events import JobCreated
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import Own, entered_with_waits, stuck, waits_of
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Failure, Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    prepared = prepare(step, waits_of(element, scope), visible(step, scope, own), scope.instance)
    if isinstance(prepared, Failure):
        stuck(step, command, own, prepared)
        return
    entered_with_waits(step, command, scope, own, prepared)
    step.out.append(JobCreated(step.new_key(), command.key, FOR_A_PERSON, 1))


BEHAVIOUR = Behaviour(activate)

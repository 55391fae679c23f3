"""Tasks: whoever does their work, they are entered with their boundary events open, and left when it is done."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement, CompleteElement
from conjoin.kernel.process.events import ElementTriggered
from conjoin.kernel.process.rules.catching import prepare
from conjoin.kernel.process.rules.entering import enter_waiting, entered, waits_of
from conjoin.kernel.process.rules.jobs import FOR_A_PERSON
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import Scope
from conjoin.kernel.process.step import Own, Step
from conjoin.kernel.process.values import stored_value
from conjoin.kernel.process.work_events import JobCreated


def receive(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """A catch event that can have boundary events. Its own message opens first."""
    enter_waiting(step, command, scope, own, (element, *waits_of(element, scope)))


def wait_for_person(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """Kept as a job of a type that cannot be activated, so that completing it and its incidents need no second way."""
    enter_waiting(step, command, scope, own, waits_of(element, scope))
    step.out.append(JobCreated(step.new_key(), command.key, FOR_A_PERSON, 1))


def evaluate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """A script or a business rule that is written as an expression: its result goes into a variable."""
    view = visible(step, scope, own)
    prepared = prepare(step, waits_of(element, scope), view, scope.instance)
    script = element.script
    assert script is not None
    value = stored_value(script.expression, view, step.at, "result")
    entered(step, command, scope, own, prepared)
    step.out.append(ElementTriggered(command.key, element.id, {script.result_variable: value}))
    step.out.append(CompleteElement(command.key, step.at))

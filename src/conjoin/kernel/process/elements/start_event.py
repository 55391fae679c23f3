"""A start event. When it completes, its scope begins to wait (C14, L12).

That is: the boundary events on the subprocess and the event subprocesses inside it. As in Zeebe the token is sent on
before they open, and a key that cannot be evaluated is an incident of the start event.
"""

from conjoin.kernel.plan import Element
from conjoin.kernel.process.commands import ActivateElement, CompleteElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.catching import open_waits, prepare
from conjoin.kernel.process.rules.entering import Own, entered, raise_incident
from conjoin.kernel.process.rules.leaving import propagate
from conjoin.kernel.process.rules.tokens import leave
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import ElementInstance, LoopBody, Scope
from conjoin.kernel.process.step import Failure, Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    entered(step, command, command.variables)
    step.out.append(CompleteElement(command.key, step.at))


def complete(step: Step, it: ElementInstance) -> None:
    if not propagate(step, it):
        return
    scope = it.scope
    assert scope is not None
    catches = _waits_of(scope)
    if not catches:
        leave(step, it)
        return
    prepared = prepare(step, catches, visible(step, scope), scope.instance)
    if isinstance(prepared, Failure):
        raise_incident(step, it.key, prepared)
        return
    leave(step, it)
    open_waits(step, scope.key, scope.instance, prepared)


def _waits_of(scope: Scope) -> list[Element]:
    # The boundary events of a multi-instance subprocess have opened with its body.
    boundaries = () if isinstance(scope.scope, LoopBody) else scope.element.boundaries
    inside = (part.start for part in scope.element.event_subprocesses)
    return [*boundaries, *(start for start in inside if start is not None)]


BEHAVIOUR = Behaviour(activate, complete)

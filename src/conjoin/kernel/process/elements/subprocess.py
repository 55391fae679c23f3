"""An embedded subprocess: a scope of its own, left when everything inside has ended.

Its boundary events open with its start event (see `start_event`).
"""

from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.entering import Own, entered
from conjoin.kernel.process.state import TERMINATING, ElementInstance, Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    entered(step, command, own)
    begin_inside(step, command.key, element, None)


def begin_inside(step: Step, key: int, element: Element, variables: c.Variables | None) -> None:
    """The token of the start event, with what an event brought along."""
    start = element.start
    assert start is not None
    token = step.new_key()
    step.out.append(e.TokenAdded(token, start.id, key))
    step.out.append(c.ActivateElement(token, start.id, key, step.at, variables))


def terminate(step: Step, it: ElementInstance) -> None:
    if it.state == TERMINATING:
        return
    step.out.append(e.ScopeTerminating(it.key))
    step.out.append(c.TerminateChildren(it.key, step.at))


BEHAVIOUR = Behaviour(activate, terminate=terminate)

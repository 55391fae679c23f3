"""Scopes: a process, an embedded subprocess and an event subprocess, left when everything inside has ended.

The boundary events of a subprocess open with its start event.
"""

from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.entering import entered
from conjoin.kernel.process.rules.tokens import complete_instance, enter
from conjoin.kernel.process.state import TERMINATING, ElementInstance, Instance, Scope
from conjoin.kernel.process.step import Own, Step


def never(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """An instance begins with StartInstance, never by a token."""


def begin(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """The token of the start event, with what an event brought along."""
    entered(step, command, scope, own)
    assert element.start is not None
    enter(step, command.key, element.start, command.variables)


def end_instance(step: Step, it: ElementInstance) -> None:
    """The end of a process is the end of its instance, and completes the call activity."""
    assert isinstance(it, Instance)
    complete_instance(step, it)
    call = step.state.elements.get(it.parent_key)
    if call is None or call.element.call is None:
        return
    handed = call.element.call.propagate_all_child_variables or call.element.outputs
    step.out.append(e.ElementTriggered(call.key, call.element.id, dict(it.variables or {}) if handed else None))
    step.out.append(c.CompleteElement(call.key, step.at))


def terminate_scope(step: Step, it: ElementInstance) -> None:
    if it.state == TERMINATING:
        return
    step.out.append(e.ScopeTerminating(it.key))
    step.out.append(c.TerminateChildren(it.key, step.at))

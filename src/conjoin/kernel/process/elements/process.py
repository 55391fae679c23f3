"""The process itself: the outermost scope. Its end is the end of the instance, and tells the call activity."""

from conjoin.kernel.plan import Element
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.elements.subprocess import terminate
from conjoin.kernel.process.rules.entering import Own
from conjoin.kernel.process.rules.tokens import complete_instance
from conjoin.kernel.process.state import ElementInstance, Instance, Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """An instance begins with StartInstance, never by a token."""


def complete(step: Step, it: ElementInstance) -> None:
    assert isinstance(it, Instance)
    complete_instance(step, it)
    call = step.state.elements.get(it.parent_key)
    if call is None or call.element.call is None:
        return
    handed = call.element.call.propagate_all_child_variables or call.element.outputs
    step.out.append(e.ElementTriggered(call.key, call.element.id, dict(it.variables or {}) if handed else None))
    step.out.append(c.CompleteElement(call.key, step.at))


BEHAVIOUR = Behaviour(activate, complete, terminate)

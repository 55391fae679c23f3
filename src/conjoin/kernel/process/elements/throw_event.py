"""An intermediate throw event: plain, with a job (message), a signal, or a link to a catch event of its scope."""

from conjoin.kernel.plan import Element, SignalDefinition
from conjoin.kernel.process import events as e
from conjoin.kernel.process.commands import ActivateElement
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.entering import Own, pass_through
from conjoin.kernel.process.rules.jobs import enter_with_job
from conjoin.kernel.process.rules.leaving import complete_element, propagate
from conjoin.kernel.process.rules.signals import throw_signal
from conjoin.kernel.process.rules.tokens import check_joins, enter
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import Step


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if element.job is not None:
        enter_with_job(step, command, element, scope, own)
    elif isinstance(element.event, SignalDefinition):
        throw_signal(step, command, element, scope, own)
    else:
        pass_through(step, command, element, scope, own)


def complete(step: Step, it: ElementInstance) -> None:
    target = it.element.link_target
    if target is None:
        complete_element(step, it)
        return
    assert it.scope is not None
    if not propagate(step, it):
        return
    step.out.append(e.ElementCompleted(it.key))
    enter(step, it.scope, target)
    check_joins(step, it.scope)


BEHAVIOUR = Behaviour(activate, complete)

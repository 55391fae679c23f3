"""An end event: plain, with a job (message), a signal, an error, or the end of the whole scope (terminate)."""

from conjoin.kernel.plan import Element, ErrorDefinition, SignalDefinition, TerminateDefinition
from conjoin.kernel.process import events as e
from conjoin.kernel.process.commands import ActivateElement, CompleteElement, TerminateChildren
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.catching import trigger
from conjoin.kernel.process.rules.entering import Own, entered, pass_through, stuck
from conjoin.kernel.process.rules.jobs import enter_with_job
from conjoin.kernel.process.rules.leaving import complete_element, propagate
from conjoin.kernel.process.rules.signals import throw_signal
from conjoin.kernel.process.rules.throwing import catcher_of, uncaught
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import ElementInstance, Scope
from conjoin.kernel.process.step import Failure, Step
from conjoin.kernel.process.values import text_value


def activate(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    event = element.event
    if element.job is not None:
        enter_with_job(step, command, element, scope, own)
    elif type(event) is ErrorDefinition:
        _throw(step, command, element, scope, own)
    elif type(event) is SignalDefinition:
        throw_signal(step, command, element, scope, own)
    else:
        pass_through(step, command, element, scope, own)


def _throw(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """Its own end is to be terminated with the scope that the error leaves."""
    assert isinstance(element.event, ErrorDefinition)
    expression = element.event.code
    code = "" if expression is None else text_value(expression, visible(step, scope, own), step.at, "error code")
    if isinstance(code, Failure):
        stuck(step, command, own, code)
        return
    catcher = catcher_of(step, scope, code)
    if catcher is None:
        stuck(step, command, own, uncaught(code))
        return
    entered(step, command, own)
    trigger(step, catcher.it, catcher.catch, None)


def complete(step: Step, it: ElementInstance) -> None:
    if type(it.element.event) is not TerminateDefinition:
        complete_element(step, it)
        return
    scope = it.scope
    assert scope is not None
    if not propagate(step, it):
        return
    step.out.append(e.ElementCompleted(it.key))
    if scope.tokens == 1:
        step.out.append(CompleteElement(scope.key, step.at))
    elif scope.pending is None and not scope.ending:
        step.out.append(e.ScopeEnding(scope.key))
        step.out.append(TerminateChildren(scope.key, step.at))


BEHAVIOUR = Behaviour(activate, complete)

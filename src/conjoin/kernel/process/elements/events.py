"""Events of a model: start, end, intermediate and boundary events, as far as a token passes them.

Waiting for a boundary event is its activity's business, and waiting for the start of an event subprocess that of the
scope around it. An intermediate catch event behind an event-based gateway, or the target of a link, only passes: what
it catches has already come.
"""

from conjoin.kernel.plan import Element, ErrorDefinition, LinkDefinition, SignalDefinition, TerminateDefinition
from conjoin.kernel.process import events as e
from conjoin.kernel.process.commands import ActivateElement, CompleteElement, TerminateChildren
from conjoin.kernel.process.elements.behaviour import Behaviour
from conjoin.kernel.process.rules.catching import open_waits, prepare, trigger
from conjoin.kernel.process.rules.entering import Own, enter_waiting, entered, pass_through, raise_incident, stuck
from conjoin.kernel.process.rules.jobs import enter_with_job
from conjoin.kernel.process.rules.leaving import complete_element, propagate
from conjoin.kernel.process.rules.signals import throw_signal
from conjoin.kernel.process.rules.throwing import catcher_of, uncaught
from conjoin.kernel.process.rules.tokens import check_joins, enter, leave
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import ElementInstance, LoopBody, Scope
from conjoin.kernel.process.step import Failure, Step
from conjoin.kernel.process.values import text_value


def _happen(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """It has come already, with what it brought."""
    entered(step, command, command.variables)
    step.out.append(CompleteElement(command.key, step.at))


def _catch(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if command.variables is not None or type(element.event) is LinkDefinition:
        _happen(step, command, element, scope, own)
    else:
        enter_waiting(step, command, scope, own, (element,))


def _begin_to_wait(step: Step, it: ElementInstance) -> None:
    """When a start event completes, its scope begins to wait (C14, L12).

    That is: for the boundary events on the subprocess and the event subprocesses inside it. As in Zeebe the token is
    sent on before they open, and a key that cannot be evaluated is an incident of the start event.
    """
    if not propagate(step, it):
        return
    scope = it.scope
    assert scope is not None
    catches = _waits_of_scope(scope)
    if not catches:
        leave(step, it)
        return
    prepared = prepare(step, catches, visible(step, scope), scope.instance)
    if isinstance(prepared, Failure):
        raise_incident(step, it.key, prepared)
        return
    leave(step, it)
    open_waits(step, scope.key, scope.instance, prepared)


def _waits_of_scope(scope: Scope) -> list[Element]:
    # The boundary events of a multi-instance subprocess have opened with its body.
    boundaries = () if isinstance(scope.scope, LoopBody) else scope.element.boundaries
    inside = (part.start for part in scope.element.event_subprocesses)
    return [*boundaries, *(start for start in inside if start is not None)]


def _throw(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if element.job is not None:
        enter_with_job(step, command, element, scope, own)
    elif type(element.event) is ErrorDefinition:
        _throw_error(step, command, element, scope, own)
    elif type(element.event) is SignalDefinition:
        throw_signal(step, command, element, scope, own)
    else:
        pass_through(step, command, element, scope, own)


def _throw_error(step: Step, command: ActivateElement, element: Element, scope: Scope, own: Own) -> None:
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


def _go_to_link(step: Step, it: ElementInstance) -> None:
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


def _end(step: Step, it: ElementInstance) -> None:
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


START_EVENT = Behaviour(_happen, _begin_to_wait)
END_EVENT = Behaviour(_throw, _end)
"""Plain, with a job (message), a signal, an error, or the end of the whole scope (terminate)."""
CATCH_EVENT = Behaviour(_catch)
THROW_EVENT = Behaviour(_throw, _go_to_link)
"""Plain, with a job (message), a signal, or a link to a catch event of its scope."""
BOUNDARY_EVENT = Behaviour(_happen)

"""Events of a model: start, end, intermediate and boundary events, as far as a token passes them.

Waiting for a boundary event is its activity's business, and waiting for the start of an event subprocess that of the
scope around it. An intermediate catch event behind an event-based gateway, or the target of a link, only passes: what
it catches has already come.
"""

from conjoin.kernel.plan import Element, ErrorDefinition, LinkDefinition, SignalDefinition, TerminateDefinition
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.catching import open_waits, prepare, trigger
from conjoin.kernel.process.rules.entering import enter_waiting, entered, pass_through
from conjoin.kernel.process.rules.jobs import enter_with_job
from conjoin.kernel.process.rules.leaving import complete_element, propagate
from conjoin.kernel.process.rules.throwing import catcher_of, uncaught
from conjoin.kernel.process.rules.tokens import check_joins, enter, leave
from conjoin.kernel.process.rules.variables import visible
from conjoin.kernel.process.state import ElementInstance, LoopBody, Scope
from conjoin.kernel.process.step import Own, Step
from conjoin.kernel.process.values import text_value


def happen(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    """It has come already, with what it brought."""
    entered(step, command, scope, command.variables)
    step.out.append(c.CompleteElement(command.key, step.at))


def catch(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if command.variables is not None or type(element.event) is LinkDefinition:
        happen(step, command, element, scope, own)
    else:
        enter_waiting(step, command, scope, own, (element,))


def begin_to_wait(step: Step, it: ElementInstance) -> None:
    """When a start event completes, its scope begins to wait (C14, L12).

    That is: for the boundary events on the subprocess and the event subprocesses inside it. As in Zeebe the token is
    sent on before they open, and a key that cannot be evaluated is an incident of the start event.
    """
    propagate(step, it)
    scope = it.scope
    assert scope is not None
    # The boundary events of a multi-instance subprocess have opened with its body.
    boundaries = () if isinstance(scope.scope, LoopBody) else scope.element.boundaries
    inside = [part.start for part in scope.element.event_subprocesses if part.start is not None]
    catches = [*boundaries, *inside]
    prepared = prepare(step, catches, visible(step, scope), scope.instance) if catches else []
    leave(step, it)
    open_waits(step, scope.key, scope.instance, prepared)


def throw(step: Step, command: c.ActivateElement, element: Element, scope: Scope, own: Own) -> None:
    if element.job is not None:
        enter_with_job(step, command, element, scope, own)
    elif isinstance(element.event, ErrorDefinition):
        # Its own end is to be terminated with the scope that the error leaves.
        expression = element.event.code
        code = "" if expression is None else text_value(expression, visible(step, scope, own), step.at, "error code")
        catcher = catcher_of(step, scope, code)
        if catcher is None:
            raise uncaught(code)
        entered(step, command, scope, own)
        trigger(step, catcher.it, catcher.catch, None)
    elif isinstance(element.event, SignalDefinition):
        # Its input mappings are what the signal carries.
        name = text_value(element.event.name, visible(step, scope, own), step.at, "signal name")
        entered(step, command, scope, own)
        step.out.append(c.BroadcastSignal(name, own or {}, scope.instance.tenant_id, step.at))
        step.out.append(c.CompleteElement(command.key, step.at))
    else:
        pass_through(step, command, element, scope, own)


def go_to_link(step: Step, it: ElementInstance) -> None:
    target, scope = it.element.link_target, it.scope
    if target is None:
        complete_element(step, it)
        return
    assert scope is not None
    propagate(step, it)
    step.out.append(e.ElementCompleted(it.key))
    enter(step, scope.key, target)
    check_joins(step, scope)


def end(step: Step, it: ElementInstance) -> None:
    scope = it.scope
    if type(it.element.event) is not TerminateDefinition:
        complete_element(step, it)
        return
    assert scope is not None
    propagate(step, it)
    step.out.append(e.ElementCompleted(it.key))
    if scope.tokens == 1:
        step.out.append(c.CompleteElement(scope.key, step.at))
    elif scope.pending is None and not scope.ending:
        step.out.append(e.ScopeEnding(scope.key))
        step.out.append(c.TerminateChildren(scope.key, step.at))

"""decide: a command in; out come what happened and what is to be done next, in order. Nothing is changed.

Events are applied, commands go to the end of the queue. Every rule is a function of its own in `rules/` and
`elements/`; here is the table that finds it, and what all elements have in common. A well-typed command never raises.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.definitions import Definitions
from conjoin.kernel.plan import ExpressionStoppedError
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.elements import BEHAVIOURS
from conjoin.kernel.process.elements.activities import terminate_scope
from conjoin.kernel.process.rules import deliveries, incidents, instances, jobs, loops
from conjoin.kernel.process.rules.entering import own_variables, raise_incident, stuck
from conjoin.kernel.process.rules.tokens import check_joins, emptied, interrupted_by, joins
from conjoin.kernel.process.state import ACTIVE, ElementInstance, LoopBody, ProcessState, Scope
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR, Failure, Item, Step


def decide(state: ProcessState, command: c.Command, definitions: Definitions) -> list[Item]:
    return decide_in(Step(state, definitions), command)


def decide_in(step: Step, command: c.Command) -> list[Item]:
    """The same in a step that may have decided others before: a shard makes one for all its commands."""
    step.at = command.at
    step.written = step.own = None
    step.next_key = step.state.keys.next
    out = step.out = []
    try:
        _DECIDE[type(command)](step, command)
    except ExpressionStoppedError as stopped:
        # An expression cost too much: nothing of what was decided counts, and the element is an incident.
        step.written = None
        step.next_key = step.state.keys.next
        out.clear()
        failure = Failure(EXTRACT_VALUE_ERROR, str(stopped))
        if isinstance(command, c.ActivateElement):
            stuck(step, command, None, failure)
        elif isinstance(command, c.CompleteElement):
            raise_incident(step, command.key, failure)
        else:
            step.refuse("INVALID_STATE", failure.text)
    return out


def _activate_element(step: Step, command: c.ActivateElement) -> None:
    scope = step.state.elements.get(command.scope_key)
    if not isinstance(scope, Scope):
        return
    element = scope.instance.definition.plan.elements[command.element_id]
    if scope.shut:
        if not joins(element) and command.key not in step.state.elements:
            _arrive_too_late(step, command, scope)
        return
    try:
        inside_loop = type(scope) is LoopBody
        if element.loop is not None and not inside_loop:
            loops.activate_body(step, command, element, scope, element.loop)
            return
        if element.inputs or inside_loop:
            step.own = own_variables(step, command, element, scope)
        BEHAVIOURS[element.kind].activate(step, command, element, scope, step.own)
    except Failure as failure:
        stuck(step, command, step.own, failure)


def _arrive_too_late(step: Step, command: c.ActivateElement, scope: Scope) -> None:
    """The scope is being left. What an event brought was accepted, so it leaves a trace; other tokens just end."""
    if command.variables is None:
        step.out.append(e.TokenDropped(command.element_id, scope.key))
    else:
        step.out.append(e.ElementEntered(command.key, command.element_id, scope.key, True, command.variables))
        step.out.append(e.ElementTerminated(command.key))
    if scope.tokens == 1:
        emptied(step, scope)
    check_joins(step, scope)


def _complete_element(step: Step, command: c.CompleteElement) -> None:
    it = step.state.elements.get(command.key)
    if it is None or not _may_complete(it):
        return
    try:
        if type(it) is LoopBody:
            loops.complete_body(step, it)
        else:
            BEHAVIOURS[it.element.kind].complete(step, it)
    except Failure as failure:
        raise_incident(step, it.key, failure)


def _may_complete(it: ElementInstance) -> bool:
    """Not if something has come between: its scope is being left, it was interrupted, or something began inside."""
    if it.state != ACTIVE or (it.scope is not None and it.scope.shut):
        return False
    if it.trigger is not None and it.trigger.element_id != it.element.id and interrupted_by(it) is not None:
        return False
    if type(it) is ElementInstance:
        return True
    assert isinstance(it, Scope)
    return not it.tokens and it.pending is None


def _terminate_element(step: Step, command: c.TerminateElement) -> None:
    it = step.state.elements.get(command.key)
    if it is None:
        return
    if isinstance(it, LoopBody):
        terminate_scope(step, it)
    else:
        BEHAVIOURS[it.element.kind].terminate(step, it)


def _terminate_children(step: Step, command: c.TerminateChildren) -> None:
    scope = step.state.elements.get(command.key)
    if not isinstance(scope, Scope) or scope.shut:
        return
    step.out.append(e.ScopeShut(scope.key))
    for child in scope.children():
        step.out.append(c.TerminateElement(child.key, step.at))
    if scope.tokens == sum((scope.arrived or {}).values()):
        emptied(step, scope)


def _check_join(step: Step, command: c.CheckJoin) -> None:
    scope = step.state.elements.get(command.scope_key)
    if isinstance(scope, Scope) and not scope.shut:
        gateway = scope.instance.definition.plan.elements[command.element_id]
        token = c.ActivateElement(step.new_key(), gateway.id, scope.key, step.at)
        try:
            BEHAVIOURS[gateway.kind].activate(step, token, gateway, scope, None)
        except Failure as failure:
            stuck(step, token, None, failure)


_DECIDE: dict[type, Callable[[Step, Any], None]] = {
    c.CreateInstance: instances.create_instance,
    c.StartInstance: instances.start_instance,
    c.CancelInstance: instances.cancel_instance,
    c.SetVariables: instances.set_variables,
    c.ActivateJobs: jobs.activate_jobs,
    c.CompleteJob: jobs.complete_job,
    c.FailJob: jobs.fail_job,
    c.ThrowError: jobs.throw_error,
    c.UpdateRetries: jobs.update_retries,
    c.UpdateTimeout: jobs.update_timeout,
    c.AssignTask: jobs.assign_task,
    c.ReturnJobs: jobs.return_jobs,
    c.ResolveIncident: incidents.resolve_incident,
    c.FireTimers: deliveries.fire_timers,
    c.BroadcastSignal: deliveries.broadcast_signal,
    c.ScheduleStarts: deliveries.schedule_starts,
    c.DeliverMessage: deliveries.deliver_message,
    c.RefuseSubscription: incidents.refuse_subscription,
    c.ActivateElement: _activate_element,
    c.CompleteElement: _complete_element,
    c.TerminateElement: _terminate_element,
    c.TerminateChildren: _terminate_children,
    c.StartLoop: loops.start_loop,
    c.CheckJoin: _check_join,
}

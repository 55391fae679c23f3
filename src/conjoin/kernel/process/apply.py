"""apply: the only writer of the process half. One function for each event; none of them decides anything.

Applying the events of a log to an empty state, in order, gives the state that the log was written from.
"""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.plan import Element
from conjoin.kernel.process import events as e
from conjoin.kernel.process.apply_work import APPLY_WORK, forget_work, stop_waiting
from conjoin.kernel.process.state import (
    ACTIVATING,
    ACTIVE,
    TERMINATING,
    ElementInstance,
    Instance,
    LoopBody,
    ProcessState,
    Scope,
    Trigger,
)

_SCOPES = frozenset(("subprocess", "event_subprocess"))


def apply(state: ProcessState, event: e.Event) -> None:
    APPLY[type(event)](state, event)


def _scope(state: ProcessState, key: int) -> Scope:
    it = state.elements[key]
    assert isinstance(it, Scope)
    return it


def _instance_created(state: ProcessState, event: e.InstanceCreated) -> None:
    definition = state.definitions.by_key[event.definition_key]
    it = Instance(event.key, definition, dict(event.variables))
    it.started = event.started
    it.tenant_id = event.tenant_id
    it.business_id = event.business_id
    it.parent_key = event.parent_key
    it.lock_key = event.lock_key
    _watch_moves(it, it.element)
    state.elements[event.key] = it
    state.keys.used(event.key)
    if event.parent_key:
        state.elements[event.parent_key].work_key = event.key


def _watch_moves(it: Scope, element: Element) -> None:
    if element.id in it.instance.definition.merging:
        it.moving = {}


def _instance_ended(state: ProcessState, event: e.InstanceCompleted | e.InstanceTerminated) -> None:
    stop_waiting(state, state.elements.pop(event.key))


def _element_entered(state: ProcessState, event: e.ElementEntered) -> None:
    it = state.elements.get(event.key) or _new(state, event)
    it.variables = dict(event.variables) if event.variables else None
    if event.active:
        it.state = ACTIVE
    else:
        it.state = ACTIVATING
        stop_waiting(state, it)


def _new(state: ProcessState, event: e.ElementEntered) -> ElementInstance:
    scope = state.elements[event.scope_key]
    assert isinstance(scope, Scope)
    element = scope.instance.definition.plan.elements[event.element_id]
    if element.kind not in _SCOPES:
        return _put(state, scope, ElementInstance(event.key, element, scope, None))
    it = Scope(event.key, element, scope, None)
    _watch_moves(it, element)
    return _put(state, scope, it)


def _put(state: ProcessState, scope: Scope, it: ElementInstance) -> ElementInstance:
    state.elements[it.key] = it
    scope.add(it)
    if scope.moving is not None:
        _count_down(scope.moving, it.element.id)
    return it


def _loop_entered(state: ProcessState, event: e.LoopEntered) -> None:
    scope = _scope(state, event.scope_key)
    element = scope.instance.definition.plan.elements[event.element_id]
    variables = dict(event.variables) if event.variables else None
    body = LoopBody(event.key, element, scope, variables, event.items)
    _watch_moves(body, element)
    waiting = state.elements.get(event.key)
    if waiting is None:
        _put(state, scope, body)
    else:
        # It was kept by an incident until now, when nobody knew its items.
        scope.remove(waiting)
        scope.add(body)
        state.elements[event.key] = body


def _element_passed(state: ProcessState, event: e.ElementPassed) -> None:
    it = state.elements.get(event.key)
    if it is not None:
        _take_out(state, it)
        return
    scope = _scope(state, event.scope_key)
    scope.tokens -= 1
    if scope.moving is not None:
        _count_down(scope.moving, event.element_id)


def _element_completed(state: ProcessState, event: e.ElementCompleted) -> None:
    it = state.elements[event.key]
    scope = it.scope
    if type(scope) is LoopBody:
        scope.completed += 1
    _take_out(state, it)


def _element_terminated(state: ProcessState, event: e.ElementTerminated) -> None:
    it = state.elements[event.key]
    if type(it.scope) is LoopBody:
        it.scope.terminated += 1
    _take_out(state, it)


def _take_out(state: ProcessState, it: ElementInstance) -> None:
    scope = it.scope
    assert scope is not None
    del state.elements[it.key]
    scope.remove(it)
    scope.tokens -= 1
    if it.waits:
        stop_waiting(state, it)
    if it.work_key or it.incident_key:
        forget_work(state, it)


def _token_added(state: ProcessState, event: e.TokenAdded) -> None:
    scope = state.elements[event.scope_key]
    assert isinstance(scope, Scope)
    scope.tokens += 1
    state.keys.used(event.key)
    if event.index >= 0:
        assert type(scope) is LoopBody
        scope.index_of[event.key] = event.index
        scope.started += 1
    if scope.moving is not None:
        scope.moving[event.element_id] = scope.moving.get(event.element_id, 0) + 1


def _flow_taken(state: ProcessState, event: e.FlowTaken) -> None:
    scope = state.elements[event.scope_key]
    assert isinstance(scope, Scope)
    scope.tokens += 1
    state.keys.used(event.key)
    if event.joins:
        if scope.arrived is None:
            scope.arrived = {}
        scope.arrived[event.flow_id] = scope.arrived.get(event.flow_id, 0) + 1
    elif scope.moving is not None:
        scope.moving[event.element_id] = scope.moving.get(event.element_id, 0) + 1


def _tokens_joined(state: ProcessState, event: e.TokensJoined) -> None:
    scope = _scope(state, event.scope_key)
    scope.tokens -= len(event.flow_ids) - 1
    assert scope.arrived is not None
    for flow_id in event.flow_ids:
        _count_down(scope.arrived, flow_id)
    if scope.moving is not None:
        scope.moving[event.element_id] = scope.moving.get(event.element_id, 0) + 1


def _token_dropped(state: ProcessState, event: e.TokenDropped) -> None:
    scope = _scope(state, event.scope_key)
    scope.tokens -= 1
    if scope.moving is not None:
        _count_down(scope.moving, event.element_id)


def _count_down(counts: dict[str, int], name: str) -> None:
    left = counts.get(name, 0) - 1
    if left > 0:
        counts[name] = left
    else:
        counts.pop(name, None)


def _element_triggered(state: ProcessState, event: e.ElementTriggered) -> None:
    state.elements[event.key].trigger = Trigger(event.element_id, event.variables, event.subscription_key)


def _scope_terminating(state: ProcessState, event: e.ScopeTerminating) -> None:
    state.elements[event.key].state = TERMINATING


def _scope_interrupted(state: ProcessState, event: e.ScopeInterrupted) -> None:
    scope = _scope(state, event.key)
    scope.pending = Trigger(event.element_id, event.variables, event.subscription_key)
    elements = scope.instance.definition.plan.elements
    inside = [wait for wait in scope.waits if elements[wait.element_id or ""].kind == "start_event"]
    at_the_border = tuple(wait for wait in scope.waits if wait not in inside)
    scope.waits = tuple(inside)
    stop_waiting(state, scope)
    scope.waits = at_the_border


def _scope_ending(state: ProcessState, event: e.ScopeEnding) -> None:
    _scope(state, event.key).ending = True


def _scope_shut(state: ProcessState, event: e.ScopeShut) -> None:
    scope = _scope(state, event.key)
    scope.shut = True
    if scope.arrived:
        scope.tokens -= sum(scope.arrived.values())
        scope.arrived = None


def _interruption_begun(state: ProcessState, event: e.InterruptionBegun) -> None:
    scope = _scope(state, event.key)
    scope.pending = None
    scope.shut = False
    scope.interrupted = True


def _variables_written(state: ProcessState, event: e.VariablesWritten) -> None:
    scope = state.elements[event.scope_key]
    if scope.variables is None:
        scope.variables = dict(event.variables)
    else:
        scope.variables.update(event.variables)


def _result_kept(state: ProcessState, event: e.ResultKept) -> None:
    """In a list of its own: an expression may have given the one before to another variable."""
    body = _scope(state, event.scope_key)
    assert type(body) is LoopBody
    if body.variables is None:
        body.variables = {}
    before = body.variables.get(event.collection)
    results = list(before) if isinstance(before, list) else []
    results += [None] * (len(body.items) - len(results))
    results[event.index] = event.value
    body.variables[event.collection] = results


def _nothing(state: ProcessState, event: e.Event) -> None:
    """A refusal changes nothing."""


APPLY: dict[type, Callable[[ProcessState, Any], None]] = {
    e.InstanceCreated: _instance_created,
    e.InstanceCompleted: _instance_ended,
    e.InstanceTerminated: _instance_ended,
    e.ElementEntered: _element_entered,
    e.LoopEntered: _loop_entered,
    e.ElementPassed: _element_passed,
    e.ElementCompleted: _element_completed,
    e.ElementTerminated: _element_terminated,
    e.TokenAdded: _token_added,
    e.FlowTaken: _flow_taken,
    e.TokensJoined: _tokens_joined,
    e.TokenDropped: _token_dropped,
    e.ElementTriggered: _element_triggered,
    e.ScopeTerminating: _scope_terminating,
    e.ScopeInterrupted: _scope_interrupted,
    e.ScopeEnding: _scope_ending,
    e.ScopeShut: _scope_shut,
    e.InterruptionBegun: _interruption_begun,
    e.VariablesWritten: _variables_written,
    e.ResultKept: _result_kept,
    e.CommandRefused: _nothing,
    **APPLY_WORK,
}

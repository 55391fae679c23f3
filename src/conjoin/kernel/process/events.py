"""Events: what happened to instances, and what each changes: `apply` is the only writer of the process half.

Plain values and keys. A refusal is an event like any other. An element that is passed in one step (a gateway) has one
event for it. Applying the events of a log to an empty state, in order, gives the state that the log was written from;
none of them decides anything. Those of waits, jobs and incidents are in `work_events`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conjoin.kernel.keys import SubscriptionKey
from conjoin.kernel.plan import Element
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

Variables = Mapping[str, Any]

_SCOPES = frozenset(("subprocess", "event_subprocess"))


class ProcessEvent:
    __slots__ = ()

    def apply(self, state: ProcessState) -> None:
        """A refusal changes nothing."""


Event = ProcessEvent


@dataclass(slots=True, eq=False)
class InstanceCreated(ProcessEvent):
    """`parent_key` is the call activity that called it; `lock_key` the correlation key it was started by."""

    key: int
    definition_key: int
    started: str
    tenant_id: str
    business_id: str
    variables: Variables
    parent_key: int
    lock_key: str | None

    def apply(self, state: ProcessState) -> None:
        definition = state.definitions.by_key[self.definition_key]
        it = Instance(self.key, definition, dict(self.variables))
        it.started = self.started
        it.tenant_id = self.tenant_id
        it.business_id = self.business_id
        it.parent_key = self.parent_key
        it.lock_key = self.lock_key
        _watch_moves(it, it.element)
        state.elements[self.key] = it
        state.keys.used(self.key)
        if self.parent_key:
            state.elements[self.parent_key].work_key = self.key


@dataclass(slots=True, eq=False)
class InstanceCompleted(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        state.stop_waiting(state.elements.pop(self.key))


@dataclass(slots=True, eq=False)
class InstanceTerminated(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        state.stop_waiting(state.elements.pop(self.key))


@dataclass(slots=True, eq=False)
class ElementEntered(ProcessEvent):
    """`active` is false while an incident keeps it from getting ready. `variables` are its own."""

    key: int
    element_id: str
    scope_key: int
    active: bool
    variables: Variables | None

    def apply(self, state: ProcessState) -> None:
        it = state.elements.get(self.key) or _new(state, self)
        it.variables = dict(self.variables) if self.variables else None
        if self.active:
            it.state = ACTIVE
        else:
            it.state = ACTIVATING
            state.stop_waiting(it)


@dataclass(slots=True, eq=False)
class LoopEntered(ProcessEvent):
    """A multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    items: Sequence[Any]
    variables: Variables | None

    def apply(self, state: ProcessState) -> None:
        scope = state.scope(self.scope_key)
        element = scope.instance.definition.plan.elements[self.element_id]
        variables = dict(self.variables) if self.variables else None
        body = LoopBody(self.key, element, scope, variables, self.items)
        _watch_moves(body, element)
        waiting = state.elements.get(self.key)
        if waiting is None:
            _put(state, scope, body)
        else:
            # It was kept by an incident until now, when nobody knew its items.
            scope.remove(waiting)
            scope.add(body)
            state.elements[self.key] = body


@dataclass(slots=True, eq=False)
class ElementPassed(ProcessEvent):
    """Entered and completed in one step."""

    key: int
    element_id: str
    scope_key: int

    def apply(self, state: ProcessState) -> None:
        it = state.elements.get(self.key)
        if it is not None:
            _take_out(state, it)
            return
        scope = state.scope(self.scope_key)
        scope.tokens -= 1
        if scope.moving is not None:
            _count_down(scope.moving, self.element_id)


@dataclass(slots=True, eq=False)
class ElementCompleted(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        it = state.elements[self.key]
        scope = it.scope
        if type(scope) is LoopBody:
            scope.completed += 1
        _take_out(state, it)


@dataclass(slots=True, eq=False)
class ElementTerminated(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        it = state.elements[self.key]
        if type(it.scope) is LoopBody:
            it.scope.terminated += 1
        _take_out(state, it)


@dataclass(slots=True, eq=False)
class TokenAdded(ProcessEvent):
    """A token that came by no flow: a start, an event, an item of a multi-instance body."""

    key: int
    element_id: str
    scope_key: int
    index: int = -1

    def apply(self, state: ProcessState) -> None:
        scope = state.elements[self.scope_key]
        assert isinstance(scope, Scope)
        scope.tokens += 1
        state.keys.used(self.key)
        if self.index >= 0:
            assert type(scope) is LoopBody
            scope.index_of[self.key] = self.index
            scope.started += 1
        if scope.moving is not None:
            scope.moving[self.element_id] = scope.moving.get(self.element_id, 0) + 1


@dataclass(slots=True, eq=False)
class FlowTaken(ProcessEvent):
    """`joins`: the token waits at a gateway for others."""

    key: int
    element_id: str
    scope_key: int
    flow_id: str
    joins: bool

    def apply(self, state: ProcessState) -> None:
        scope = state.elements[self.scope_key]
        assert isinstance(scope, Scope)
        scope.tokens += 1
        state.keys.used(self.key)
        if self.joins:
            if scope.arrived is None:
                scope.arrived = {}
            scope.arrived[self.flow_id] = scope.arrived.get(self.flow_id, 0) + 1
        elif scope.moving is not None:
            scope.moving[self.element_id] = scope.moving.get(self.element_id, 0) + 1


@dataclass(slots=True, eq=False)
class TokensJoined(ProcessEvent):
    """The tokens of these flows became one."""

    element_id: str
    scope_key: int
    flow_ids: tuple[str, ...]

    def apply(self, state: ProcessState) -> None:
        scope = state.scope(self.scope_key)
        scope.tokens -= len(self.flow_ids) - 1
        assert scope.arrived is not None
        for flow_id in self.flow_ids:
            _count_down(scope.arrived, flow_id)
        if scope.moving is not None:
            scope.moving[self.element_id] = scope.moving.get(self.element_id, 0) + 1


@dataclass(slots=True, eq=False)
class TokenDropped(ProcessEvent):
    """It arrived in a scope that is being left."""

    element_id: str
    scope_key: int

    def apply(self, state: ProcessState) -> None:
        scope = state.scope(self.scope_key)
        scope.tokens -= 1
        if scope.moving is not None:
            _count_down(scope.moving, self.element_id)


@dataclass(slots=True, eq=False)
class ElementTriggered(ProcessEvent):
    """Something happened that will end it: its own message or job, or an interrupting event on its border."""

    key: int
    element_id: str
    variables: Variables | None
    subscription_key: SubscriptionKey = 0

    def apply(self, state: ProcessState) -> None:
        state.elements[self.key].trigger = Trigger(self.element_id, self.variables, self.subscription_key)


@dataclass(slots=True, eq=False)
class ScopeTerminating(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        state.elements[self.key].state = TERMINATING


@dataclass(slots=True, eq=False)
class ScopeInterrupted(ProcessEvent):
    """An interrupting event subprocess will take over once everything else in the scope has ended."""

    key: int
    element_id: str
    variables: Variables | None
    subscription_key: SubscriptionKey = 0

    def apply(self, state: ProcessState) -> None:
        scope = state.scope(self.key)
        scope.pending = Trigger(self.element_id, self.variables, self.subscription_key)
        elements = scope.instance.definition.plan.elements
        inside = [wait for wait in scope.waits if elements[wait.element_id or ""].kind == "start_event"]
        at_the_border = tuple(wait for wait in scope.waits if wait not in inside)
        scope.waits = tuple(inside)
        state.stop_waiting(scope)
        scope.waits = at_the_border


@dataclass(slots=True, eq=False)
class ScopeEnding(ProcessEvent):
    """It completes once everything in it has been ended."""

    key: int

    def apply(self, state: ProcessState) -> None:
        state.scope(self.key).ending = True


@dataclass(slots=True, eq=False)
class ScopeShut(ProcessEvent):
    """Nothing enters any more; tokens that wait at a gateway are gone."""

    key: int

    def apply(self, state: ProcessState) -> None:
        scope = state.scope(self.key)
        scope.shut = True
        if scope.arrived:
            scope.tokens -= sum(scope.arrived.values())
            scope.arrived = None


@dataclass(slots=True, eq=False)
class InterruptionBegun(ProcessEvent):
    key: int

    def apply(self, state: ProcessState) -> None:
        scope = state.scope(self.key)
        scope.pending = None
        scope.shut = False
        scope.interrupted = True


@dataclass(slots=True, eq=False)
class VariablesWritten(ProcessEvent):
    scope_key: int
    variables: Variables

    def apply(self, state: ProcessState) -> None:
        scope = state.elements[self.scope_key]
        if scope.variables is None:
            scope.variables = dict(self.variables)
        else:
            scope.variables.update(self.variables)


@dataclass(slots=True, eq=False)
class ResultKept(ProcessEvent):
    """Of an item of a multi-instance body: it has its place in the list that the body collects."""

    scope_key: int
    collection: str
    index: int
    value: Any

    def apply(self, state: ProcessState) -> None:
        """In a list of its own: an expression may have given the one before to another variable."""
        body = state.scope(self.scope_key)
        assert type(body) is LoopBody
        if body.variables is None:
            body.variables = {}
        before = body.variables.get(self.collection)
        results = list(before) if isinstance(before, list) else []
        results += [None] * (len(body.items) - len(results))
        results[self.index] = self.value
        body.variables[self.collection] = results


@dataclass(slots=True, eq=False)
class CommandRefused(ProcessEvent):
    """A business no: NOT_FOUND, ALREADY_EXISTS, INVALID_ARGUMENT or INVALID_STATE, and why."""

    code: str
    text: str


def _watch_moves(it: Scope, element: Element) -> None:
    if element.id in it.instance.definition.merging:
        it.moving = {}


def _new(state: ProcessState, event: ElementEntered) -> ElementInstance:
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


def _take_out(state: ProcessState, it: ElementInstance) -> None:
    scope = it.scope
    assert scope is not None
    del state.elements[it.key]
    scope.remove(it)
    scope.tokens -= 1
    if it.waits:
        state.stop_waiting(it)
    if it.work_key or it.incident_key:
        state.forget_work(it)


def _count_down(counts: dict[str, int], name: str) -> None:
    left = counts.get(name, 0) - 1
    if left > 0:
        counts[name] = left
    else:
        counts.pop(name, None)

"""Tokens: how they move from element to element, and what a scope does when the last one has gone.

Every move is an order on the queue, never a call, so tokens advance side by side. Invariant: a scope that has no
token left always goes on: it completes, ends its termination, or lets the interrupting event take over.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from conjoin.kernel.correlation.commands import CloseSubscription, EndInstance
from conjoin.kernel.correlation.messages import Subscription
from conjoin.kernel.plan import Element, Flow
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.state import ACTIVE, TERMINATING, ElementInstance, Instance, Scope
from conjoin.kernel.process.step import Step

_JOINING = ("parallel_gateway", "inclusive_gateway")


def joins(element: Element) -> bool:
    """Does a token wait here for others? Also behind two start events, where no other may ever come."""
    return len(element.incoming) > 1 and element.kind in _JOINING


def enter(
    step: Step, scope_key: int, element: Element, variables: Mapping[str, Any] | None = None, index: int = -1
) -> None:
    """A token that comes by no flow."""
    key = step.new_key()
    step.out.append(e.TokenAdded(key, element.id, scope_key, index))
    step.out.append(c.ActivateElement(key, element.id, scope_key, step.at, variables, index))


def go_on(step: Step, scope: Scope, flows: Sequence[Flow]) -> None:
    """One token of the scope leaves its element by these flows; without any its path has ended."""
    out, scope_key = step.out, scope.key
    for flow in flows:
        target, key = flow.target, step.next_key
        element_id = target.id
        out.append(e.FlowTaken(key, element_id, scope_key, flow.id, len(target.incoming) > 1 and joins(target)))
        out.append(c.ActivateElement(key, element_id, scope_key, step.at))
        step.next_key = key + 1
    if not flows:
        path_ended(step, scope)
    if scope.moving is not None:
        check_joins(step, scope)


def leave(step: Step, it: ElementInstance) -> None:
    """An element is done: its token goes on. (The items of a multi-instance body leave in `loops`.)"""
    if it.waits:
        close_waits(step, it)
    step.out.append(e.ElementCompleted(it.key))
    scope = it.scope
    assert scope is not None
    go_on(step, scope, it.element.outgoing)


def path_ended(step: Step, scope: Scope) -> None:
    """One token of the scope is used up."""
    if scope.tokens > 1:
        return
    if scope.shut:
        emptied(step, scope)
    elif scope.state == ACTIVE and scope.pending is None and not scope.ending:
        step.out.append(c.CompleteElement(scope.key, step.at))
    # Otherwise TerminateChildren is on its way and goes on from there.


def emptied(step: Step, scope: Scope) -> None:
    """Everything in a scope that was being left has ended."""
    if scope.state == TERMINATING:
        end_by_force(step, scope)
    elif scope.pending is not None:
        start = scope.instance.definition.plan.elements[scope.pending.element_id]
        assert start.scope is not None
        step.out.append(e.InterruptionBegun(scope.key))
        enter(step, scope.key, start.scope, scope.pending.variables or {})
    else:
        step.out.append(c.CompleteElement(scope.key, step.at))


def end_by_force(step: Step, it: ElementInstance) -> None:
    """Terminate what has nothing inside any more; the interrupting event on its border follows (J1)."""
    close_waits(step, it)
    if isinstance(it, Instance):
        step.out.append(e.InstanceTerminated(it.key))
        _free_lock(step, it)
        # A called instance was terminated: so is the call activity that waits for it.
        call = step.state.elements.get(it.parent_key)
        if call is not None:
            end_by_force(step, call)
        return
    step.out.append(e.ElementTerminated(it.key))
    scope = it.scope
    assert scope is not None
    boundary = interrupted_by(it)
    if boundary is not None:
        # Its message was accepted: it begins even where the scope is being left as well, and ends with that.
        assert it.trigger is not None
        enter(step, scope.key, boundary, it.trigger.variables or {})
    else:
        path_ended(step, scope)
    check_joins(step, scope)


def interrupted_by(it: ElementInstance) -> Element | None:
    if it.trigger is None:
        return None
    cause = it.instance.definition.plan.elements[it.trigger.element_id]
    return cause if cause.kind == "boundary_event" else None


def complete_instance(step: Step, it: Instance) -> None:
    close_waits(step, it)
    step.out.append(e.InstanceCompleted(it.key))
    _free_lock(step, it)


def _free_lock(step: Step, it: Instance) -> None:
    """Of the key that started it (G18-G20)."""
    if it.lock_key is not None:
        command = EndInstance(it.definition.process_id, it.key, step.at)
        step.out.append(c.ForKey(it.tenant_id, it.lock_key, command))


def close_waits(step: Step, it: ElementInstance) -> None:
    """Close every subscription but the one whose message did it: its acknowledgement closes that (C5)."""
    taken = it.trigger.subscription_key if it.trigger is not None else 0
    for wait in it.waits:
        if isinstance(wait, Subscription) and wait.key != taken:
            close_subscription(step, it, wait)


def close_subscription(step: Step, it: ElementInstance, wait: Subscription) -> None:
    step.out.append(c.ForKey(it.instance.tenant_id, wait.payload, CloseSubscription(wait.key, step.at)))


def check_joins(step: Step, scope: Scope) -> None:
    """A token moved: an inclusive gateway that waits in this scope may have nothing to wait for any more."""
    if scope.moving is None or not scope.arrived:
        return
    for gateway in scope.instance.definition.merging.get(scope.element.id, ()):
        if any(flow.id in scope.arrived for flow in gateway.incoming):
            step.out.append(c.CheckJoin(scope.key, gateway.id, step.at))

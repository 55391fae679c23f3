"""Catching: what an element waits for (messages, timers, signals), and what happens when it comes.

All names, keys and times of an element are evaluated before anything opens; if one fails, nothing does (C13). An
event is accepted only if nothing has been decided yet that will take its receiver away: so whatever is accepted has
an effect, and what is not accepted is given back.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, final

from conjoin.kernel.correlation.commands import OpenSubscription
from conjoin.kernel.correlation.messages import Subscription
from conjoin.kernel.keys import SubscriptionKey, rank_of
from conjoin.kernel.plan import Element, Literal, MessageDefinition, SignalDefinition, TimerDefinition
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.rules.tokens import close_subscription, enter
from conjoin.kernel.process.rules.variables import together
from conjoin.kernel.process.state import ACTIVE, ElementInstance, Instance, Scope
from conjoin.kernel.process.step import Step
from conjoin.kernel.process.timers import Schedule, schedule
from conjoin.kernel.process.values import not_storable, text_value, wrong_kind
from conjoin.kernel.storable import unstorable_text, whole_number

_LARGEST_KEY = 10**4_000 - 1
"""Written out as text, a number is a key of so many digits."""


@final
class _Signal(NamedTuple):
    catch: Element
    name: str


@final
class _Timer(NamedTuple):
    catch: Element
    schedule: Schedule


_Message = tuple[Element, str, str]
"""The catching element, and the name and key that it listens to."""

Prepared = list[_Message | _Timer | _Signal]


def prepare(step: Step, catches: Sequence[Element], view: Mapping[str, Any], instance: Instance) -> Prepared:
    """Evaluate what the catching elements listen to; errors are not waited for, they are looked up when thrown."""
    found: Prepared = []
    view = together(view, len(catches))
    for catch in catches:
        event = catch.event
        if isinstance(event, MessageDefinition):
            found.append(_message(step, catch, event, view, instance))
        elif isinstance(event, TimerDefinition):
            found.append(_Timer(catch, schedule(event, view, step.at)))
        elif isinstance(event, SignalDefinition):
            found.append(_Signal(catch, text_value(event.name, view, step.at, "signal name")))
    return found


def _message(
    step: Step, catch: Element, event: MessageDefinition, view: Mapping[str, Any], instance: Instance
) -> _Message:
    name_of, key_of = event.name, event.key
    name = name_of.value if type(name_of) is Literal else text_value(name_of, view, step.at, "message name")
    if key_of is None:
        return (catch, name, _key_without_expression(event.match, instance))
    value = key_of(view, step.at)
    key = key_text(value)
    if key is None:
        raise wrong_kind("correlation key", key_of, value, "a string or a number")
    problem = unstorable_text(key)
    if problem is not None:
        raise not_storable("correlation key", key_of, problem)
    return (catch, name, key)


def _key_without_expression(match: str, instance: Instance) -> str:
    """A message of Camunda 7 has no key: the policy `match` says what stands in for it, or its name alone counts."""
    if match == "business_key":
        return instance.business_id
    return str(instance.key) if match == "variables" else ""


def key_text(value: Any) -> str | None:
    """A correlation key as text: a number is cut to its integer part (M1-M5)."""
    if isinstance(value, str):
        return value
    if value is None or isinstance(value, (bool, list, dict)):
        return None
    cut = whole_number(value, _LARGEST_KEY)
    return None if cut is None else str(cut)


def open_waits(step: Step, key: int, instance: Instance, prepared: Prepared) -> None:
    """Messages first, then timers and signals, each in the order of the plan."""
    others = 0
    for wait in prepared:
        if type(wait) is _Timer or type(wait) is _Signal:
            others += 1
        else:
            _open_subscription(step, key, instance, wait)
    for wait in prepared if others else ():
        if type(wait) is _Timer:
            start_timer(step, key, wait.catch, wait.schedule)
        elif type(wait) is _Signal:
            step.out.append(w.SignalAwaited(step.new_key(), key, wait.catch.id, wait.name))


def _open_subscription(step: Step, key: int, instance: Instance, wait: _Message) -> None:
    (catch, name, correlation_key), at = wait, step.at
    subscription = Subscription(
        step.new_key(),
        rank_of(key),
        name,
        instance.definition.plan.process_id,
        instance.key,
        catch.id,
        at,
        catch.interrupting,
        instance.business_id,
        correlation_key,
    )
    step.out.append(w.MessageAwaited(key, subscription))
    step.out.append(c.ForKey(instance.tenant_id, correlation_key, OpenSubscription(subscription, at)))


def start_timer(step: Step, owner_key: int, catch: Element, when: Schedule) -> None:
    # Only what does not interrupt can happen again.
    again = when.repetitions if not catch.interrupting or catch.kind == "start_event" else 0
    step.out.append(w.TimerStarted(step.new_key(), owner_key, catch.id, when.due_at, again, when.interval))


def trigger(
    step: Step,
    it: ElementInstance,
    catch: Element,
    variables: Mapping[str, Any] | None,
    subscription_key: SubscriptionKey = 0,
) -> bool:
    """An event happened that `catch` waits for on behalf of `it`. Answers whether it was accepted."""
    if not _accepts(step, it, catch):
        return False
    if catch.kind == "start_event":
        assert isinstance(it, Scope)
        _trigger_event_subprocess(step, it, catch, variables, subscription_key)
    elif catch.kind == "boundary_event" and not catch.interrupting:
        assert it.scope is not None
        enter(step, it.scope.key, catch, variables or {})
    else:
        interrupts = catch.kind == "boundary_event"
        step.out.append(e.ElementTriggered(it.key, catch.id, variables, subscription_key))
        step.out.append(c.TerminateElement(it.key, step.at) if interrupts else c.CompleteElement(it.key, step.at))
    return True


def _trigger_event_subprocess(
    step: Step, it: Scope, start: Element, variables: Mapping[str, Any] | None, subscription_key: SubscriptionKey
) -> None:
    if not start.interrupting:
        assert start.scope is not None
        enter(step, it.key, start.scope, variables or {})
        return
    for wait in it.waits:
        if isinstance(wait, Subscription) and wait.key != subscription_key and is_inside(it, wait.element_id):
            close_subscription(step, it, wait)
    step.out.append(e.ScopeInterrupted(it.key, start.id, variables, subscription_key))
    step.out.append(c.TerminateChildren(it.key, step.at))


def is_inside(it: ElementInstance, element_id: str | None) -> bool:
    """Does the wait belong to an event subprocess of the scope, and not to a boundary event on it (L4)?"""
    return it.instance.definition.plan.elements[element_id or ""].kind == "start_event"


def _accepts(step: Step, it: ElementInstance, catch: Element) -> bool:
    if it.state != ACTIVE:
        return False
    if it.trigger is not None:
        # It is about to complete by itself; what runs beside it may still begin (J4, J8).
        beside = catch.kind == "boundary_event" and not catch.interrupting
        if not beside or it.trigger.element_id != it.element.id:
            return False
    if catch.kind == "start_event" and isinstance(it, Scope) and (it.pending or it.interrupted or it.ending):
        return False
    return not is_doomed(step, it)


def is_doomed(step: Step, it: ElementInstance) -> bool:
    """Has something around it been decided that will end it?"""
    scope = it.scope
    while True:
        if scope is None:
            parent_key = it.instance.parent_key
            call = step.state.elements.get(parent_key) if parent_key else None
            if call is None:
                return False
            if call.state != ACTIVE or call.trigger is not None:
                return True
            it, scope = call, call.scope
            continue
        if scope.state != ACTIVE or scope.trigger is not None or scope.pending is not None or scope.ending:
            return True
        scope = scope.scope

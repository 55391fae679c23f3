"""Deliveries: a message, a due timer, a deployed start timer or a signal meets the element that waits for it.

A message that cannot be taken any more is given back (D17, D18); one that was taken is acknowledged in the same step.
A signal reaches all that wait for its name, and is not kept for later ones.
"""

from contextlib import suppress

from conjoin.kernel.correlation.commands import AcknowledgeCorrelation, RejectCorrelation
from conjoin.kernel.correlation.messages import Subscription
from conjoin.kernel.keys import key_of_rank
from conjoin.kernel.plan import SignalDefinition, TimerDefinition
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import work_events as w
from conjoin.kernel.process.rules.catching import start_timer, trigger
from conjoin.kernel.process.state import ElementInstance
from conjoin.kernel.process.step import Failure, Step
from conjoin.kernel.process.timers import next_time, schedule


def deliver_message(step: Step, command: c.DeliverMessage) -> None:
    subscription, message = command.subscription, command.message
    it = waiting_for(step, subscription)
    if it is not None:
        catch = it.instance.definition.plan.elements[subscription.element_id or ""]
        if trigger(step, it, catch, message.payload, subscription.key):
            answer = AcknowledgeCorrelation(subscription.key, message.key, step.at)
            step.out.append(c.ForKey(command.tenant_id, command.key, answer))
            return
    refusal = RejectCorrelation(subscription, message, step.at, "it no longer waits")
    step.out.append(c.ForKey(command.tenant_id, command.key, refusal))


def waiting_for(step: Step, subscription: Subscription) -> ElementInstance | None:
    """The element instance behind a subscription, while it still waits for it."""
    it = step.state.elements.get(key_of_rank(subscription.rank))
    if it is not None:
        for wait in it.waits:
            if wait.key == subscription.key:
                return it
    return None


def fire_timers(step: Step, command: c.FireTimers) -> None:
    due = step.state.due_timers
    timer = step.state.timers.get(command.key or (due[0][1] if due else 0))
    if timer is None or timer.due_at > command.at:
        return
    step.out.append(w.TimerEnded(timer.key))
    it = step.state.elements.get(timer.owner_key)
    if it is None:
        step.out.append(c.StartInstance(timer.owner_key, timer.element_id, "timer", {}, step.at))
    elif not trigger(step, it, it.instance.definition.plan.elements[timer.element_id], None):
        return
    when = next_time(timer, step.at)
    if when is not None:
        step.out.append(w.TimerStarted(step.new_key(), timer.owner_key, timer.element_id, *when))


def schedule_starts(step: Step, command: c.ScheduleStarts) -> None:
    """The start timers of the newest version replace those of the version before."""
    definition = step.definitions.by_key[command.definition_key]
    for key in step.state.start_timers.get((definition.tenant_id, definition.process_id), ()):
        step.out.append(w.TimerEnded(key))
    for start in definition.plan.starts:
        if isinstance(start.event, TimerDefinition):
            with suppress(Failure):
                start_timer(step, definition.key, start, schedule(start.event, {}, step.at))


def broadcast_signal(step: Step, command: c.BroadcastSignal) -> None:
    for definition in step.definitions.all_latest() if command.starts else ():
        for start in definition.plan.starts if definition.tenant_id == command.tenant_id else ():
            event = start.event
            if isinstance(event, SignalDefinition) and event.name({}, step.at) == command.name:
                step.out.append(c.StartInstance(definition.key, start.id, "signal", command.variables, step.at))
    waiting = step.state.signals.get((command.tenant_id, command.name), {})
    for wait in sorted(waiting.values()):
        it = step.state.elements[wait.owner_key]
        trigger(step, it, it.instance.definition.plan.elements[wait.element_id], command.variables)

"""Deliveries: a message, a due timer or a deployed start timer meets the element that waits for it.

A message that cannot be taken any more is given back (D17, D18); one that was taken is acknowledged in the same step.
"""

from conjoin.kernel.correlation.commands import AcknowledgeCorrelation, RejectCorrelation
from conjoin.kernel.keys import key_of_rank
from conjoin.kernel.plan import TimerDefinition
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as e
from conjoin.kernel.process.rules.catching import start_timer, trigger
from conjoin.kernel.process.state import ElementInstance, Timer
from conjoin.kernel.process.step import Failure, Step
from conjoin.kernel.process.timers import next_time, schedule


def deliver_message(step: Step, command: c.DeliverMessage) -> None:
    subscription, message = command.subscription, command.message
    it = waiting_for(step, subscription.rank, subscription.key)
    if it is not None:
        catch = it.instance.definition.plan.elements[subscription.element_id or ""]
        if trigger(step, it, catch, message.payload, subscription.key):
            answer = AcknowledgeCorrelation(subscription.key, message.key, step.at)
            step.out.append(c.ForKey(command.tenant_id, command.key, answer))
            return
    refusal = RejectCorrelation(subscription, message, step.at, "it no longer waits")
    step.out.append(c.ForKey(command.tenant_id, command.key, refusal))


def waiting_for(step: Step, rank: int, subscription_key: int) -> ElementInstance | None:
    """The element instance behind a subscription, while it still waits for it."""
    it = step.state.elements.get(key_of_rank(rank))
    if it is not None:
        for wait in it.waits:
            if wait.key == subscription_key:
                return it
    return None


def fire_timers(step: Step, command: c.FireTimers) -> None:
    due = step.state.due_timers
    timer = step.state.timers.get(command.key or (due[0][1] if due else 0))
    if timer is None or timer.due_at > command.at:
        return
    step.out.append(e.TimerEnded(timer.key))
    it = step.state.elements.get(timer.owner_key)
    if it is None:
        _start_by_timer(step, timer)
        return
    catch = it.instance.definition.plan.elements[timer.element_id]
    if trigger(step, it, catch, None):
        _start_again(step, timer)


def _start_again(step: Step, timer: Timer) -> None:
    when = next_time(timer, step.at)
    if when is not None:
        started = (step.new_key(), timer.owner_key, timer.element_id, *when)
        step.out.append(e.TimerStarted(*started))


def _start_by_timer(step: Step, timer: Timer) -> None:
    step.out.append(c.StartInstance(timer.owner_key, timer.element_id, "timer", {}, step.at))
    _start_again(step, timer)


def schedule_starts(step: Step, command: c.ScheduleStarts) -> None:
    """The start timers of the newest version replace those of the version before."""
    definition = step.definitions.by_key[command.definition_key]
    for key in step.state.start_timers.get((definition.tenant_id, definition.process_id), ()):
        step.out.append(e.TimerEnded(key))
    for start in definition.plan.starts:
        if isinstance(start.event, TimerDefinition):
            when = schedule(start.event, {}, step.at)
            if not isinstance(when, Failure):
                start_timer(step, definition.key, start, when)

"""apply, for what element instances wait for: messages, timers and signals. Who is left stops waiting."""

from collections.abc import Callable
from typing import Any

from conjoin.kernel.process import events as e
from conjoin.kernel.process.state import ElementInstance, ProcessState, SignalWait, Timer


def _message_awaited(state: ProcessState, event: e.MessageAwaited) -> None:
    it = state.elements[event.key]
    it.waits += (event.subscription,)
    state.keys.used(event.subscription.key)


def _signal_awaited(state: ProcessState, event: e.SignalAwaited) -> None:
    it = state.elements[event.owner_key]
    wait = SignalWait(event.key, event.owner_key, event.element_id, event.name)
    it.waits += (wait,)
    state.signals.setdefault((it.instance.tenant_id, event.name), {})[event.key] = wait
    state.keys.used(event.key)


def _timer_started(state: ProcessState, event: e.TimerStarted) -> None:
    timer = Timer(event.key, event.owner_key, event.element_id, event.due_at, event.repetitions, event.interval)
    state.watch_timer(timer)
    state.keys.used(event.key)
    it = state.elements.get(event.owner_key)
    if it is not None:
        it.waits += (timer,)
    else:
        definition = state.definitions.by_key[event.owner_key]
        state.start_timers.setdefault((definition.tenant_id, definition.process_id), []).append(event.key)


def _timer_ended(state: ProcessState, event: e.TimerEnded) -> None:
    timer = state.timers[event.key]
    state.forget_timer(event.key)
    it = state.elements.get(timer.owner_key)
    if it is not None:
        it.waits = tuple(wait for wait in it.waits if wait is not timer)
    else:
        definition = state.definitions.by_key[timer.owner_key]
        state.start_timers[definition.tenant_id, definition.process_id].remove(event.key)


def stop_waiting(state: ProcessState, it: ElementInstance) -> None:
    for wait in it.waits:
        if type(wait) is Timer:
            state.forget_timer(wait.key)
        elif type(wait) is SignalWait:
            _forget_signal(state, it.instance.tenant_id, wait)
    it.waits = ()


def _forget_signal(state: ProcessState, tenant_id: str, wait: SignalWait) -> None:
    place = (tenant_id, wait.name)
    waiting = state.signals[place]
    del waiting[wait.key]
    if not waiting:
        del state.signals[place]


APPLY_WAITS: dict[type, Callable[[ProcessState, Any], None]] = {
    e.MessageAwaited: _message_awaited,
    e.SignalAwaited: _signal_awaited,
    e.TimerStarted: _timer_started,
    e.TimerEnded: _timer_ended,
}

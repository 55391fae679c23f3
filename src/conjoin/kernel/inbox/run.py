"""A run of the schedule over one group: which messages are tried, and in which order.

It decides before anything is tried; `goes_on` decides after each attempt. A message that waits, is paused or uncertain
keeps its place in the group. A parked one has left it, unless `exhausted_blocks`. In mode `fail_first` nothing
overtakes a message that keeps its place and is not tried; in mode `all` only the strict gate holds others back.
"""

from collections.abc import Iterable
from typing import NamedTuple

from conjoin.kernel.inbox.due import EXPIRE, LAPSE, TRY, what_is_due
from conjoin.kernel.inbox.groups import order_of
from conjoin.kernel.inbox.message import ENDED, PARKED, PAUSED, UNCERTAIN, WAITING, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Outcome, Unanswered
from conjoin.kernel.inbox.settings import FAIL_FIRST, STRICT, InboxSettings


class RunPlan(NamedTuple):
    """`settled` is booked without an attempt. `tries` are offered in order, as long as `goes_on` says so."""

    settled: tuple[tuple[InboxMessage, Outcome], ...]
    tries: tuple[InboxMessage, ...]


def plan(group: Iterable[InboxMessage], now: int, settings: InboxSettings) -> RunPlan:
    """The run of a group: all of its messages in one of `states_in_plan`, and whatever else of it is due."""
    settled: list[tuple[InboxMessage, Outcome]] = []
    queue: list[tuple[InboxMessage, bool]] = []
    for message in sorted(group, key=order_of(settings)):
        what = what_is_due(message, now, settings)
        if what == EXPIRE:
            settled.append((message, Expired()))
        elif message.state not in ENDED:
            queue.append((message, what == TRY))
            if what == LAPSE:
                settled.append((message, Unanswered()))
    tries = _gated(queue, settings)
    size = len(tries) if settings.batch_size < 0 else settings.batch_size
    return RunPlan(tuple(settled), tuple(tries[:size]))


def goes_on(outcome: Outcome, settings: InboxSettings) -> bool:
    """Does the group's run go on after an attempt with this outcome?"""
    return settings.mode != FAIL_FIRST or isinstance(outcome, Delivered)


def states_in_plan(settings: InboxSettings) -> tuple[str, ...]:
    """The states whose messages must be known to plan their group: those that keep a place in it."""
    return (WAITING, PAUSED, UNCERTAIN, PARKED) if settings.exhausted_blocks else (WAITING, PAUSED, UNCERTAIN)


def _gated(queue: list[tuple[InboxMessage, bool]], settings: InboxSettings) -> list[InboxMessage]:
    """Those that are ready, as far as nothing that keeps its place and is not ready holds them back."""
    keeps_place = states_in_plan(settings)
    holding = [message for message, is_ready in queue if not is_ready and message.state in keeps_place]
    # The strict gate is shut by one that has an error, or a call under way.
    if settings.group_gate == STRICT and any(it.attempts or it.state in (UNCERTAIN, PARKED) for it in holding):
        return []
    tries: list[InboxMessage] = []
    for message, is_ready in queue:
        if is_ready:
            tries.append(message)
        elif settings.mode == FAIL_FIRST and message.state in keeps_place:
            break
    return tries

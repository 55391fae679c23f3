"""A run of the schedule over one group: which messages are tried, in which order, and which wait, for what.

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
from conjoin.kernel.inbox.verdicts import verdict_of

BEHIND, GROUP_WAITS, BEYOND_BATCH = "behind", "group_waits", "beyond_batch"
"""Why a message that is due itself waits: one before it does; the strict gate is shut; the batch is full."""


class Wait(NamedTuple):
    """A message that is not tried, why (one of the above, or the reason of its verdict), and which one it waits for."""

    message: InboxMessage
    why: str
    because_of: int | None = None


class RunPlan(NamedTuple):
    """`settled` is booked without an attempt. `tries` are offered in order, as long as `goes_on` says so."""

    settled: tuple[tuple[InboxMessage, Outcome], ...]
    tries: tuple[InboxMessage, ...]
    waits: tuple[Wait, ...]


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
    tries, waits = _gated(queue, now, settings)
    size = len(tries) if settings.batch_size < 0 else settings.batch_size
    waits += (Wait(message, BEYOND_BATCH) for message in tries[size:])
    return RunPlan(tuple(settled), tuple(tries[:size]), tuple(waits))


def goes_on(outcome: Outcome, settings: InboxSettings) -> bool:
    """Does the group's run go on after an attempt with this outcome?"""
    return settings.mode != FAIL_FIRST or isinstance(outcome, Delivered)


def states_in_plan(settings: InboxSettings) -> tuple[str, ...]:
    """The states whose messages must be known to plan their group: those that keep a place in it."""
    return (WAITING, PAUSED, UNCERTAIN, PARKED) if settings.exhausted_blocks else (WAITING, PAUSED, UNCERTAIN)


def _gated(
    queue: list[tuple[InboxMessage, bool]], now: int, settings: InboxSettings
) -> tuple[list[InboxMessage], list[Wait]]:
    tries: list[InboxMessage] = []
    waits: list[Wait] = []
    gatekeeper = _gatekeeper(queue, settings)
    ahead: InboxMessage | None = None
    for message, is_ready in queue:
        if not is_ready:
            waits.append(Wait(message, verdict_of(message, now).reason))
            if ahead is None and settings.mode == FAIL_FIRST and message.state in states_in_plan(settings):
                ahead = message
        elif gatekeeper is not None:
            waits.append(Wait(message, GROUP_WAITS, gatekeeper.key))
        elif ahead is not None:
            waits.append(Wait(message, BEHIND, ahead.key))
        else:
            tries.append(message)
    return tries, waits


def _gatekeeper(queue: list[tuple[InboxMessage, bool]], settings: InboxSettings) -> InboxMessage | None:
    """The first message that keeps the strict gate shut: it has an error, or a call under way, and is not due."""
    if settings.group_gate != STRICT:
        return None
    keeps_place = states_in_plan(settings)
    for message, is_ready in queue:
        is_erroneous = message.attempts > 0 or message.state in (UNCERTAIN, PARKED)
        if not is_ready and is_erroneous and message.state in keeps_place:
            return message
    return None

"""Differences: what two lists of events tell the instances, side by side. Only that counts: who is given what."""

from collections.abc import Iterator
from typing import Any

from conjoin.kernel.correlation import events as e

Events = list[e.Event]


def pair_of(event: e.MessageCorrelated) -> tuple[int, int]:
    return event.subscription.key, event.message.key


def deliveries(events: Events) -> dict[tuple[int, int], e.MessageCorrelated]:
    return {pair_of(event): event for event in events if type(event) is e.MessageCorrelated}


def starts(events: Events) -> dict[Any, e.InstanceStarted]:
    return {(it.process_id, it.message.key): it for it in events if type(it) is e.InstanceStarted}


def only_in_one(was: Events, would: Events) -> Iterator[e.Event]:
    """Refused subscriptions, held and released messages that the other side has not."""
    told = [{_which(event): event for event in events} for events in (was, would)]
    for mine, theirs in (told, told[::-1]):
        yield from (event for which, event in mine.items() if which[1] is not None and which not in theirs)


def _which(event: Any) -> tuple[str, Any]:
    kind = type(event)
    if kind is e.SubscriptionRefused:
        return kind.__name__, event.subscription.key
    return kind.__name__, event.message.key if kind in (e.MessageHeld, e.MessageReleased) else None

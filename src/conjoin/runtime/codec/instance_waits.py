"""Subscriptions that stand in the row of their instance: one that is open, and those that were closed before it.

Most instances wait for one message at a time. Their subscription has no row of its own: a message that takes such an
instance on writes one row, at one place. All in one row are on one correlation key, so that the row is found by it.
"""

from collections.abc import Iterator
from typing import Any, Final

from conjoin.kernel.correlation import Subscription
from conjoin.kernel.correlation.events import SubscriptionClosed
from conjoin.kernel.keys import key_of_rank, rank_of
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.store.rows import InstanceRow, SubscriptionRow

WaitColumns = tuple[str | None, int, str, int, str, int, int, str]
"""The columns of an instance that are about its subscriptions, from `wait_on` on."""
FIRST: Final = 15
assert InstanceRow._fields[FIRST] == "wait_on"
NO_WAITS: Final = "[]"
NOTHING: Final[WaitColumns] = (None, 0, "", 0, "", 0, 0, NO_WAITS)
MOST_CLOSED: Final = 8
"""So many closed ones stand in one row."""


def open_wait(row: InstanceRow) -> Subscription:
    return Subscription(
        row.wait_key,
        rank_of(row.wait_element_key),
        row.wait_name,
        row.process_id,
        row.key,
        row.wait_element_id or None,
        row.wait_opened_at,
        bool(row.wait_interrupting),
        row.business_id,
        row.wait_on,
    )


def closed_waits(row: InstanceRow) -> Iterator[SubscriptionClosed]:
    if row.closed_waits == NO_WAITS:
        return
    for key, name, element_key, element_id, opened_at, interrupting, at in read_json(row.closed_waits):
        its = Subscription(
            key,
            rank_of(element_key),
            name,
            row.process_id,
            row.key,
            element_id or None,
            opened_at,
            bool(interrupting),
            row.business_id,
            row.wait_on,
        )
        its.closed = True
        yield SubscriptionClosed(its, at)


class InstanceWaits:
    """What the row of one instance holds of subscriptions, while a run changes it."""

    __slots__ = ("_opened", "before", "closed", "on", "open_key")

    def __init__(self, row: InstanceRow | None) -> None:
        """As its row has it; None for an instance that has none yet."""
        self.before: WaitColumns = NOTHING if row is None else row[FIRST:]
        self.on = self.before[0]
        self.open_key = self.before[1]
        self.closed = {} if row is None else {it.subscription.name: it for it in closed_waits(row)}
        self._opened: Subscription | None = None

    def has_room_for_closed(self, name: str, key: str) -> bool:
        if self.on != key:
            return not self.open_key and not self.closed
        return name in self.closed or len(self.closed) < MOST_CLOSED

    def open(self, key: str, subscription: Subscription) -> None:
        """`key` is the correlation key that it waits on."""
        self.on = key
        self.open_key = subscription.key
        self._opened = subscription

    def keep(self, key: str, closed: SubscriptionClosed) -> None:
        self.on = key
        self.closed[closed.subscription.name] = closed

    def columns(self) -> WaitColumns:
        """As it is to be written."""
        closed = json_text([_written(it) for it in self.closed.values()]) if self.closed else NO_WAITS
        if not self.open_key:
            return (self.on if self.closed else None, *NOTHING[1:-1], closed)
        its = self._opened
        if its is None:
            return (*self.before[:-1], closed)
        element = (key_of_rank(its.rank), its.element_id or "")
        return (self.on, its.key, its.name, *element, its.opened_at, int(its.interrupting), closed)


def _written(closed: SubscriptionClosed) -> tuple[Any, ...]:
    its = closed.subscription
    element = (key_of_rank(its.rank), its.element_id or "")
    return (its.key, its.name, *element, its.opened_at, int(its.interrupting), closed.at)


def subscription_row(place: tuple[str, str], its: Subscription, closed_at: int | None) -> SubscriptionRow:
    """The row of one that stands apart."""
    return SubscriptionRow(
        *place,
        its.key,
        its.name,
        its.process_id,
        its.instance_id,
        key_of_rank(its.rank),
        its.element_id or "",
        its.opened_at,
        int(its.interrupting),
        its.business_id,
        0 if its.busy_with is None else its.busy_with.key,
        closed_at,
    )

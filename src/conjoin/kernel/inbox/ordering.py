"""Ordering: who comes first in a group. Always the smaller one; the last tie is broken by place and key.

By event time (default), by message id, or by the value of an expression, which is evaluated elsewhere and comes with
the message: numbers first, then texts, then messages that have no value to sort by.
"""

from collections.abc import Callable

from conjoin.kernel.inbox.message import InboxMessage
from conjoin.kernel.inbox.settings import EXPRESSION_MARK, MESSAGE_ID, InboxSettings

OrderKey = tuple[int, float, str, int, int, int]


def order_of(settings: InboxSettings) -> Callable[[InboxMessage], OrderKey]:
    """The sort key that the settings ask for."""
    if settings.order.startswith(EXPRESSION_MARK):
        return by_value
    return by_message_id if settings.order == MESSAGE_ID else by_event_time


def by_event_time(message: InboxMessage) -> OrderKey:
    return 0, 0, "", message.event_at, message.position, message.key


def by_message_id(message: InboxMessage) -> OrderKey:
    return 0, 0, message.message_id, message.event_at, message.position, message.key


def by_value(message: InboxMessage) -> OrderKey:
    value = message.sort_value
    kind, number, text = 2, 0.0, ""
    if isinstance(value, str):
        kind, text = 1, value
    elif value is not None and value == value:  # not a number is not in any order
        kind, number = 0, value
    return kind, number, text, message.event_at, message.position, message.key

"""Groups: which messages are ordered and held back together, and who comes first among them.

A group is named by a JSON text of what its messages share, so that two groups never meet in one name. There is no
group of "all the others": a message that says nothing of its target is a group of its own. What is for a remote system
never shares a group with what is for our own engine, or for another system.
"""

import json
from collections.abc import Callable

from conjoin.kernel.inbox.message import InboxMessage, Number
from conjoin.kernel.inbox.settings import EXPRESSION_MARK, MESSAGE_ID, InboxSettings

OrderKey = tuple[int, Number, str, int, int, int]

# `default=str`: a decimal or a date among the variables still names a group.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


def group_key_of(message: InboxMessage) -> str:
    """The group of a message: the one it names; its correlation key; what narrows down its target; or itself.

    The name is no part of it: messages of several names for one instance are taken in their order.
    """
    hint = message.hint
    tenant = hint.tenant_id or message.tenant_id
    system = (message.target,) if message.target else ()
    if hint.group:
        return _encode(("group", tenant, hint.group, *system))
    if hint.correlation_key:
        return _encode(("key", tenant, hint.correlation_key, *system))
    narrow = {
        "execution": hint.execution_id,
        "instance": hint.process_instance_id,
        "business_key": hint.business_key,
        "variables": dict(hint.correlation_variables),
    }
    target = {field: value for field, value in narrow.items() if value}
    if not target:
        return _encode(("message", message.tenant_id, message.channel, message.message_id))
    # The process narrows down nothing by itself: all its instances would wait for each other.
    process = {"process": hint.process_definition_id} if hint.process_definition_id else {}
    return _encode(("target", tenant, target | process, *system))


def order_of(settings: InboxSettings) -> Callable[[InboxMessage], OrderKey]:
    """The sort key: the smaller one comes first, and the last tie is broken by position and key."""
    if settings.order.startswith(EXPRESSION_MARK):
        return by_value
    return by_message_id if settings.order == MESSAGE_ID else by_event_time


def by_event_time(message: InboxMessage) -> OrderKey:
    return 0, 0, "", message.event_at, message.position, message.key


def by_message_id(message: InboxMessage) -> OrderKey:
    return 0, 0, message.message_id, message.event_at, message.position, message.key


def by_value(message: InboxMessage) -> OrderKey:
    """By what the order's expression gave: numbers first, then texts, then messages without a value."""
    value = message.sort_value
    kind, text = 2, ""
    number: Number = 0
    if isinstance(value, str):
        kind, text = 1, value
    elif value is not None and value == value:  # not a number is not in any order
        kind, number = 0, value
    return kind, number, text, message.event_at, message.position, message.key

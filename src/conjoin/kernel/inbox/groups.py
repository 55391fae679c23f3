"""Grouping: which messages are one batch, and so are ordered and held back together.

A group is named by a JSON text of what its messages share, so that two groups never meet in one name. There is no
group of "all the others": a message that says nothing of its target is a group of its own. What is for a remote system
never shares a group with what is for our own engine, or for another one.
"""

import json

from conjoin.kernel.inbox.message import Hint, InboxMessage

# `default=str`: a decimal or a date among the variables still names a group.
_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), default=str).encode


def group_key_of(message: InboxMessage) -> str:
    """The group of a message: the one it names; its correlation key; its target; or itself.

    The name is no part of it: messages of several names for one instance are taken in their order.
    """
    hint = message.hint
    tenant = hint.tenant_id or message.tenant_id
    system = (message.target,) if message.target else ()
    if hint.group:
        return _encode(("group", tenant, hint.group, *system))
    if hint.correlation_key:
        return _encode(("key", tenant, hint.correlation_key, *system))
    target = _target_of(hint)
    if target:
        return _encode(("target", tenant, target, *system))
    return _encode(("message", message.tenant_id, message.channel, message.message_id))


def _target_of(hint: Hint) -> dict[str, object]:
    """Everything that narrows down the instance.

    Which process it is narrows down nothing by itself: all its instances would wait for each other.
    """
    narrow = {
        "execution": hint.execution_id,
        "instance": hint.process_instance_id,
        "business_key": hint.business_key,
        "variables": dict(hint.correlation_variables),
    }
    given: dict[str, object] = {field: value for field, value in narrow.items() if value}
    if given and hint.process_definition_id:
        given["process"] = hint.process_definition_id
    return given

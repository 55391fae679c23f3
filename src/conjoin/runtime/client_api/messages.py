"""A message as a client hands it in: what makes it unusable, and what a refusal of correlation is called outside."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.policies import Policies
from conjoin.kernel.process import commands as c
from conjoin.kernel.storable import LARGEST_INT64, LONGEST_KEY, unstorable_text
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.codec.json_text import unstorable_json
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.visibility.plain_values import to_plain

LONGEST_BUSINESS_ID = 256
_TENANT = re.compile(r"[\w.-]{1,31}", re.ASCII)

_CODES = {
    "duplicate_id": "ALREADY_EXISTS",
    "not_found": "NOT_FOUND",
    "locked": "NOT_FOUND",
    "ambiguous": "INVALID_STATE",
}


@dataclass(slots=True)
class NewMessage:
    """`ttl_ms` None takes the time to live of the policy; `sync`: answered with the instance, and never kept."""

    name: str
    key: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    ttl_ms: int | None = None
    message_id: str = ""
    business_id: str = ""
    tenant_id: str = DEFAULT_TENANT
    sync: bool = False
    published_at: int | None = None
    """From when on its time to live counts; None: from when it is taken."""
    from_inbox: bool = False
    """Under the policies of the inbox, whatever the profile of the store."""
    subscriptions_only: bool = False
    """It starts no instance, whatever the policies say: only a waiting subscription takes it."""


def unusable(message: NewMessage) -> Refusal | None:
    """A7, A10, Q16."""
    name = message.name
    if not name or name.isspace():
        return Refusal("INVALID_ARGUMENT", "a message needs a name")
    texts = {"name": name, "correlation key": message.key, "message id": message.message_id}
    no_text = unusable_texts({**texts, "tenant": message.tenant_id})
    if no_text is not None:
        return no_text
    for what, number in (("time to live", message.ttl_ms), ("time of publishing", message.published_at)):
        if number is not None and abs(number) > LARGEST_INT64:
            return Refusal("INVALID_ARGUMENT", f"the {what} is out of range: at most 64 bits are stored")
    return unusable_order(message.variables, message.business_id)


def unusable_order(variables: Mapping[str, Any], business_id: str = "") -> Refusal | None:
    """What a client hands in with any order."""
    if type(variables) is not dict and not isinstance(variables, Mapping):
        return Refusal("INVALID_ARGUMENT", "variables are an object")
    problem = unstorable_json(variables)
    if problem is not None:
        return Refusal("INVALID_ARGUMENT", f"the variables cannot be stored: what was sent {problem}")
    problem = unstorable_text(business_id, LONGEST_BUSINESS_ID)
    return Refusal("INVALID_ARGUMENT", f"the business id {problem}") if problem else None


def unusable_texts(texts: Mapping[str, str], longest: int = LONGEST_KEY) -> Refusal | None:
    """Of texts that have a column of their own, by what they are. `longest` is in characters."""
    for what, text in texts.items():
        problem = unstorable_text(text, longest)
        if problem is not None:
            return Refusal("INVALID_ARGUMENT", f"the {what} {problem}")
    return None


def unusable_tenant(tenant_ids: Iterable[str]) -> Refusal | None:
    for tenant_id in tenant_ids:
        if tenant_id != DEFAULT_TENANT and not _TENANT.fullmatch(tenant_id):
            text = f"{tenant_id[:40]!r} is no tenant id: 1 to 31 letters, digits, dots, dashes or underscores are one"
            return Refusal("INVALID_ARGUMENT", text)
    return None


def accepted(message: NewMessage, key: int, at: int, policies: Policies) -> Message:
    """The record that correlation works with; its variables are those of this instant (N9)."""
    name, business_id = message.name, message.business_id
    policy = policies.of(name)
    since = at if message.published_at is None else message.published_at
    deadline = deadline_of(since, message.ttl_ms, policy)
    made = Message(key, name, at, deadline, policy, message.message_id, business_id, dict(message.variables))
    made.sync, made.subscriptions_only = message.sync, message.subscriptions_only
    return made


def order_of(new: NewMessage, message: Message, at: int) -> c.ForKey:
    kind = correlation.CorrelateMessage if new.sync else correlation.PublishMessage
    return c.ForKey(new.tenant_id, new.key, kind(message, at))


def refusal_of(event: e.MessageRefused, key: str) -> Refusal:
    text = sentence("refused", event.reason, to_plain(event.parameters), event.message.name, key)
    return Refusal(_CODES[event.reason], text)

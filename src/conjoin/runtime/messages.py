"""A message as a client hands it in: what makes it unusable, and what a refusal of correlation is called outside."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import deadline_of
from conjoin.kernel.correlation.sentences import sentence
from conjoin.kernel.policies import Policies
from conjoin.runtime.answers import Refusal
from conjoin.runtime.catalog import DEFAULT_TENANT
from conjoin.runtime.encoding.json_text import is_storable, is_text
from conjoin.runtime.telling import told

LONGEST_KEY = 32_768
LONGEST_BUSINESS_ID = 256

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


def unusable(message: NewMessage) -> Refusal | None:
    """A7, A10, Q16."""
    name = message.name
    if not name or name.isspace():
        return Refusal("INVALID_ARGUMENT", "a message needs a name")
    if len(message.key) > LONGEST_KEY:
        return Refusal("INVALID_ARGUMENT", f"the correlation key is longer than {LONGEST_KEY} characters")
    for what, text in (("name", name), ("correlation key", message.key), ("message id", message.message_id)):
        if not is_text(text):
            return Refusal("INVALID_ARGUMENT", f"the {what} has characters that are no text (NUL or half a pair)")
    return unusable_order(message.variables, message.business_id)


def unusable_order(variables: Mapping[str, Any], business_id: str = "") -> Refusal | None:
    """What a client hands in with any order."""
    if not isinstance(variables, Mapping):
        return Refusal("INVALID_ARGUMENT", "variables are an object")
    if not is_storable(variables):
        return Refusal("INVALID_ARGUMENT", "the variables are not JSON")
    if len(business_id) > LONGEST_BUSINESS_ID:
        return Refusal("INVALID_ARGUMENT", f"the business id is longer than {LONGEST_BUSINESS_ID} characters")
    if not is_text(business_id):
        return Refusal("INVALID_ARGUMENT", "the business id has characters that are no text (NUL or half a pair)")
    return None


def accepted(message: NewMessage, key: int, at: int, policies: Policies) -> Message:
    """The record that correlation works with; its variables are those of this instant (N9)."""
    name, business_id = message.name, message.business_id
    policy = policies.of(name)
    since = at if message.published_at is None else message.published_at
    deadline = deadline_of(since, message.ttl_ms, policy)
    return Message(key, name, at, deadline, policy, message.message_id, business_id, dict(message.variables))


def refusal_of(event: e.MessageRefused, key: str) -> Refusal:
    text = sentence("refused", event.reason, told(event.parameters), event.message.name, key)
    return Refusal(_CODES[event.reason], text)

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
    """`ttl_ms` None takes the time to live of the policy."""

    name: str
    key: str = ""
    variables: Mapping[str, Any] = field(default_factory=dict)
    ttl_ms: int | None = None
    message_id: str = ""
    business_id: str = ""
    tenant_id: str = DEFAULT_TENANT


def unusable(message: NewMessage) -> Refusal | None:
    """A7, A10, Q16."""
    name, key, variables, business_id = message.name, message.key, message.variables, message.business_id
    if not name or name.isspace():
        return Refusal("INVALID_ARGUMENT", "a message needs a name")
    if len(key) > LONGEST_KEY:
        return Refusal("INVALID_ARGUMENT", f"the correlation key is longer than {LONGEST_KEY} characters")
    if type(variables) is not dict and not isinstance(variables, Mapping):
        return Refusal("INVALID_ARGUMENT", "the variables of a message are an object")
    if len(business_id) > LONGEST_BUSINESS_ID:
        return Refusal("INVALID_ARGUMENT", f"the business id is longer than {LONGEST_BUSINESS_ID} characters")
    return None


def accepted(message: NewMessage, key: int, at: int, policies: Policies) -> Message:
    """The record that correlation works with; its variables are those of this instant (N9)."""
    name, business_id = message.name, message.business_id
    policy = policies.of(name)
    deadline = deadline_of(at, message.ttl_ms, policy)
    return Message(key, name, at, deadline, policy, message.message_id, business_id, dict(message.variables))


def refusal_of(event: e.MessageRefused, key: str) -> Refusal:
    text = sentence("refused", event.reason, event.parameters, event.message.name, key)
    return Refusal(_CODES[event.reason], text)

"""An inbox message: what came in, how it finds its target, and how far it has got.

It is one immutable value, as flat as the row it is stored in; outcomes and operations answer with another one. It is
not the message of the correlation half, which it becomes when our own engine takes it. What does not change by being
tried (payload, hint, times) comes first, what does comes last.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, NamedTuple

from conjoin.kernel.instants import ALWAYS, NEVER

WAITING = "waiting"
"""Tried when it is due."""
PAUSED = "paused"
"""Keeps its place but is not tried until an operator resumes it."""
PARKED = "parked"
"""Given up, and out of the way of others; an operator may release it. `parked_for` says why."""
UNCERTAIN = "uncertain"
"""A remote target was called and no answer is booked: under way now, or lost in a crash."""
DONE = "done"
"""The target has it."""
EXPIRED = "expired"
"""Its expiration came first."""
DELETED = "deleted"
"""An operator removed it. The row stays for its retention, so that a redelivery is still known."""

STATES = (WAITING, PAUSED, PARKED, UNCERTAIN, DONE, EXPIRED, DELETED)
ENDED = (DONE, EXPIRED, DELETED)

DECODE_ERROR, MAPPING_ERROR, TARGET_ERROR = "decode_error", "mapping_error", "target_error"
FAULTS = (DECODE_ERROR, MAPPING_ERROR, TARGET_ERROR)
"""Where an attempt failed: its payload could not be read, no hint could be made of it, or the target refused."""

ATTEMPTS_EXHAUSTED, HELD = "attempts_exhausted", "held"
"""Why a message is parked: its attempts are used up, or its error says that a retry is of no use."""

DEFAULT_TENANT = "<default>"
Number = int | float | Decimal
NOTHING: Mapping[str, Any] = {}


class MessageType(NamedTuple):
    """The type of a payload, as its sender names it."""

    namespace: str = ""
    name: str = ""
    revision: str = ""

    @property
    def full_name(self) -> str:
        return f"{self.namespace}.{self.name}" if self.namespace else self.name


class Hint(NamedTuple):
    """How a message finds its target. Our own engine uses the first four, remote systems what they know of.

    Variables are values as JSON has them.
    """

    name: str = ""
    correlation_key: str = ""
    variables: Mapping[str, Any] = NOTHING
    message_id: str = ""
    """The id that is sent to the target; empty: that of the inbox message."""
    correlation_variables: Mapping[str, Any] = NOTHING
    business_key: str = ""
    process_definition_id: str = ""
    process_instance_id: str = ""
    execution_id: str = ""
    tenant_id: str = ""
    """Of the target, where it is called otherwise than here."""
    is_start: bool = False
    group: str = ""
    """The grouping key, where the mapping knows better than the default."""


class Fault(NamedTuple):
    """The last error that was counted."""

    kind: str
    text: str


class Ending(NamedTuple):
    """What became of it, and when. `target` is what took it, as the target calls it."""

    verdict: str
    reason: str
    at: int
    target: str = ""


class InboxMessage(NamedTuple):
    """Instants are microseconds. `key` is unique in its store and breaks the last tie of every order."""

    key: int
    channel: str
    message_id: str
    payload: bytes
    event_at: int
    ingested_at: int
    position: int
    """In its source: an offset, a line."""
    tenant_id: str = DEFAULT_TENANT
    type: MessageType = MessageType()
    encoding: str = "json"
    headers: Mapping[str, str] = NOTHING
    hint: Hint = Hint()
    target: str = ""
    """The name of the remote system that it is for; empty: our own engine."""
    group_key: str = ""
    sort_value: str | Number | None = None
    """What the order's expression gave for it."""
    grace_until: int = ALWAYS
    """An error before this instant is not counted."""
    expires_at: int = NEVER

    state: str = WAITING
    attempts: int = 0
    """Errors that were counted."""
    next_retry_at: int | None = None
    tried_at: int | None = None
    error: Fault | None = None
    parked_for: str = ""
    ending: Ending | None = None


def identity_of(message: InboxMessage) -> tuple[str, str, str]:
    """What two deliveries of one message have in common. A second one is acknowledged and not stored."""
    return message.tenant_id, message.channel, message.message_id


def is_in_grace(message: InboxMessage, now: int) -> bool:
    return now < message.grace_until


def reason_of_expiry(message: InboxMessage) -> str:
    return "never_offered" if message.tried_at is None else "nobody_waited"


def is_expired(message: InboxMessage, now: int) -> bool:
    """Is its last instant over? What has ended, or may be with the target just now, does not expire."""
    return message.expires_at <= now and message.state in (WAITING, PAUSED, PARKED)

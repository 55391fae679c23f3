"""Verdicts of inbox messages: what has become of one so far, its reason and the reason's parameters.

Nothing of this is stored but the ending; it follows from the message and the instant. `not_due` is said of whatever
waits for the next run or for its turn in the group, of which a message alone knows nothing.
"""

from typing import Any, NamedTuple

from conjoin.kernel.inbox.due import turn_at
from conjoin.kernel.inbox.message import (
    PARKED,
    PAUSED,
    Ending,
    InboxMessage,
    is_expired,
    is_in_grace,
    reason_of_expiry,
)
from conjoin.kernel.inbox.outcomes import HANDED_OVER

REASONS: dict[str, tuple[str, ...]] = {
    "waiting": ("in_backoff", "in_grace", "paused", "not_due"),
    "parked": ("attempts_exhausted", "held"),
    "failed": ("target_error", "mapping_error", "decode_error"),
    "expired": ("nobody_waited", "never_offered"),
    "discarded": ("deleted",),
    "correlated": (HANDED_OVER,),
    "buffered": (HANDED_OVER,),
}
"""What the inbox itself says. `failed` is the verdict of a single attempt; a message that is done has its target's, or
was handed over to one that does not say whose it is."""


class InboxVerdict(NamedTuple):
    """`detail` holds the parameters; instants in it end in `_at`."""

    verdict: str
    reason: str
    detail: dict[str, Any]


def verdict_of(message: InboxMessage, now: int) -> InboxVerdict:
    if message.ending is not None:
        return _ended(message, message.ending)
    if is_expired(message, now):
        return InboxVerdict("expired", reason_of_expiry(message), _expiry(message))
    if message.state == PARKED:
        return InboxVerdict("parked", message.parked_for, _attempts(message, "attempts", "last_error"))
    return InboxVerdict("waiting", _waits_for(message, now), _retry(message))


def _ended(message: InboxMessage, ending: Ending) -> InboxVerdict:
    said = {"target": ending.target, "system": message.target}
    detail: dict[str, Any] = {name: value for name, value in said.items() if value}
    if ending.verdict == "expired":
        detail |= _expiry(message)
    return InboxVerdict(ending.verdict, ending.reason, detail)


def _expiry(message: InboxMessage) -> dict[str, Any]:
    return {"attempts": message.attempts, "deadline_at": message.expires_at}


def _waits_for(message: InboxMessage, now: int) -> str:
    if message.state == PAUSED:
        return "paused"
    if message.attempts and turn_at(message) > now:
        return "in_backoff"
    if message.tried_at is not None and is_in_grace(message, now):
        return "in_grace"
    return "not_due"


def _retry(message: InboxMessage) -> dict[str, Any]:
    told = _attempts(message, "attempt", "error")
    if message.next_retry_at is not None:
        told["next_retry_at"] = message.next_retry_at
    return told


def _attempts(message: InboxMessage, number: str, error: str) -> dict[str, Any]:
    told: dict[str, Any] = {number: message.attempts} if message.attempts else {}
    return told if message.error is None else {**told, error: message.error.text}

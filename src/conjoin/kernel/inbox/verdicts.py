"""Verdicts of inbox messages: what has become of one so far, its reason and the reason's parameters.

Nothing of this is stored but the ending; it follows from the message and the instant. `not_due` covers whatever waits
for the next run or for its turn in the group, of which a message alone knows nothing.
"""

from typing import Any, NamedTuple

from conjoin.kernel.inbox.due import turn_at
from conjoin.kernel.inbox.message import PARKED, PAUSED, InboxMessage, is_expired, is_in_grace, reason_of_expiry
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
"""The verdicts of the inbox itself. `failed` is that of a single attempt; a message that is done has its target's, or
was handed over to one that does not say who took it."""


class InboxVerdict(NamedTuple):
    """`detail` holds the parameters; instants in it end in `_at`."""

    verdict: str
    reason: str
    detail: dict[str, Any]


def verdict_of(message: InboxMessage, now: int) -> InboxVerdict:
    ending = message.ending
    expiry = {"attempts": message.attempts, "deadline_at": message.expires_at}
    if ending is not None:
        taken = {"target": ending.target, "system": message.target}
        detail: dict[str, Any] = {name: value for name, value in taken.items() if value}
        return InboxVerdict(ending.verdict, ending.reason, detail | (expiry if ending.verdict == "expired" else {}))
    if is_expired(message, now):
        return InboxVerdict("expired", reason_of_expiry(message), expiry)
    if message.state == PARKED:
        return InboxVerdict("parked", message.parked_for, _attempts(message, "attempts", "last_error"))
    detail = _attempts(message, "attempt", "error")
    if message.next_retry_at is not None:
        detail["next_retry_at"] = message.next_retry_at
    return InboxVerdict("waiting", _waits_for(message, now), detail)


def _waits_for(message: InboxMessage, now: int) -> str:
    if message.state == PAUSED:
        return "paused"
    if message.attempts and turn_at(message) > now:
        return "in_backoff"
    if message.tried_at is not None and is_in_grace(message, now):
        return "in_grace"
    return "not_due"


def _attempts(message: InboxMessage, number: str, error: str) -> dict[str, Any]:
    detail: dict[str, Any] = {number: message.attempts} if message.attempts else {}
    return detail if message.error is None else {**detail, error: message.error.text}

"""Outcomes: what a try came to, and what is booked of it on the message.

The three classes of errors are booked alike: each is counted, waits for its back-off and is parked in the end, and
none touches another message. An error in the grace time is neither counted nor noted. For a remote target `intend`
is stored before the call and the outcome after it, so a crash in between is seen.
"""

from dataclasses import dataclass

from conjoin.kernel.inbox.error_text import cut_text
from conjoin.kernel.inbox.message import (
    ATTEMPTS_EXHAUSTED,
    DONE,
    EXPIRED,
    HELD,
    PARKED,
    PAUSED,
    TARGET_ERROR,
    UNCERTAIN,
    WAITING,
    Ending,
    Fault,
    InboxMessage,
    is_in_grace,
    reason_of_expiry,
)
from conjoin.kernel.inbox.retries import is_exhausted, next_retry_at
from conjoin.kernel.inbox.settings import HOLD, InboxSettings

HANDED_OVER = "handed_over"
"""The reason of a delivery of which nobody says who took it: a remote system has it, or our own engine keeps it."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """The target has taken it over: correlated as a rule, else what it has made of it (buffered, known already)."""

    verdict: str = "correlated"
    reason: str = "waiting_instance"
    target: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """`kind` is one of FAULTS. What is not `retryable` is parked at once, for a person."""

    kind: str
    text: str
    retryable: bool = True


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Nobody knows whether the target has it: the call broke off, or who made it is gone."""

    text: str = "the call was not answered; the target may have the message"


@dataclass(frozen=True, slots=True)
class Expired:
    """Its last instant came before a target took it."""


Outcome = Delivered | Failed | Unanswered | Expired


def intend(message: InboxMessage, now: int) -> InboxMessage:
    """The message as it is stored before a remote target is called."""
    return message._replace(state=UNCERTAIN, tried_at=now) if message.state == WAITING else message


def book(message: InboxMessage, outcome: Outcome, now: int, settings: InboxSettings) -> InboxMessage:
    """The message after an outcome. What has ended stays as it ended: an answer that comes late changes nothing."""
    if message.ending is not None:
        return message
    if isinstance(outcome, Delivered):
        ending = Ending(outcome.verdict, outcome.reason, now, outcome.target)
        return message._replace(state=DONE, ending=ending, tried_at=now)
    if isinstance(outcome, Expired):
        return message._replace(state=EXPIRED, ending=Ending("expired", reason_of_expiry(message), now))
    if not is_counted(message, outcome, now, settings):
        return message._replace(state=WAITING if message.state == UNCERTAIN else message.state, tried_at=now)
    if isinstance(outcome, Unanswered):
        outcome = Failed(TARGET_ERROR, outcome.text, retryable=settings.on_uncertain != HOLD)
    return _counted(message, outcome, now, settings)


def is_counted(message: InboxMessage, error: Failed | Unanswered, now: int, settings: InboxSettings) -> bool:
    """Not in its grace time, unless it is a call that must not be made twice."""
    return not is_in_grace(message, now) or (isinstance(error, Unanswered) and settings.on_uncertain == HOLD)


def outcome_of_verdict(verdict: str, reason: str, target: str = "", text: str = "") -> Outcome:
    """What our own engine's verdict means here. Nobody waits, several do, or a lock: that may change, so try again."""
    if verdict != "refused" or reason == "duplicate_id":
        return Delivered(verdict, reason, target)
    return Failed(TARGET_ERROR, text or reason, retryable=reason in _MAY_CHANGE)


_MAY_CHANGE = ("not_found", "ambiguous", "locked")


def _counted(message: InboxMessage, failed: Failed, now: int, settings: InboxSettings) -> InboxMessage:
    attempts = message.attempts + 1
    parked_for = HELD if not failed.retryable else ATTEMPTS_EXHAUSTED if is_exhausted(attempts, settings) else ""
    # A person who paused it meanwhile is still obeyed.
    state = PAUSED if message.state == PAUSED else PARKED if parked_for else WAITING
    return message._replace(
        state=state,
        attempts=attempts,
        next_retry_at=next_retry_at(message, attempts, now, settings),
        tried_at=now,
        error=Fault(failed.kind, cut_text(failed.text, settings.error_text_max)),
        parked_for=parked_for,
    )

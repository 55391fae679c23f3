"""Outcomes: the result of an attempt, what is booked of it on the message, when it is retried, and its history line.

The three classes of errors are booked alike: each is counted, waits for its back-off and is parked in the end, and
none touches another message. An error in the grace time is neither counted nor kept in the history, or a queue of
early messages would write a line each at every poll. For a remote target `intend` is stored before the call and the
outcome after it, so a crash in between is seen.
"""

from dataclasses import dataclass

from conjoin.kernel.inbox import message as m
from conjoin.kernel.inbox.message import Ending, Fault, InboxMessage, is_in_grace, reason_of_expiry
from conjoin.kernel.inbox.settings import AGE, ATTEMPT, EXCEEDED, HOLD, InboxSettings
from conjoin.kernel.instants import NEVER, after

HANDED_OVER = "handed_over"
"""The reason of a delivery without a known taker: a remote system has it, or our own engine keeps it."""
_MAY_CHANGE = ("not_found", "ambiguous", "locked")
"""Refusals of our own engine that are worth a retry."""
_CAUSE = "Caused by:"
_CUT = "\n...\n"


@dataclass(frozen=True, slots=True)
class Delivered:
    """The target has taken it over: correlated as a rule, else what it has made of it (buffered, known already)."""

    verdict: str = "correlated"
    reason: str = "waiting_instance"
    target: str = ""


@dataclass(frozen=True, slots=True)
class Failed:
    """`kind` is one of FAULTS. What is not `retryable` is parked at once, for an operator."""

    kind: str
    text: str
    retryable: bool = True


@dataclass(frozen=True, slots=True)
class Unanswered:
    """It is unknown whether the target has it: the call broke off, or its caller has crashed."""

    text: str = "the call was not answered; the target may have the message"


@dataclass(frozen=True, slots=True)
class Expired:
    """Its last instant came before a target took it."""


Outcome = Delivered | Failed | Unanswered | Expired


def intend(message: InboxMessage, now: int) -> InboxMessage:
    """The message as it is stored before a remote target is called."""
    return message._replace(state=m.UNCERTAIN, tried_at=now) if message.state == m.WAITING else message


def book(message: InboxMessage, outcome: Outcome, now: int, settings: InboxSettings) -> InboxMessage:
    """The message after an outcome. What has ended stays as it ended: an answer that comes late changes nothing."""
    if message.ending is not None:
        return message
    if isinstance(outcome, Delivered):
        ending = Ending(outcome.verdict, outcome.reason, now, outcome.target)
        return message._replace(state=m.DONE, ending=ending, tried_at=now)
    if isinstance(outcome, Expired):
        return message._replace(state=m.EXPIRED, ending=Ending("expired", reason_of_expiry(message), now))
    if not is_counted(message, outcome, now, settings):
        return message._replace(state=m.WAITING if message.state == m.UNCERTAIN else message.state, tried_at=now)
    if isinstance(outcome, Unanswered):
        outcome = Failed(m.TARGET_ERROR, outcome.text, retryable=settings.on_uncertain != HOLD)
    return _counted(message, outcome, now, settings)


def is_counted(message: InboxMessage, error: Failed | Unanswered, now: int, settings: InboxSettings) -> bool:
    """Not in its grace time, unless it is a call that must not be made twice."""
    return not is_in_grace(message, now) or (isinstance(error, Unanswered) and settings.on_uncertain == HOLD)


def outcome_of_verdict(verdict: str, reason: str, target: str = "", text: str = "") -> Outcome:
    """What a verdict of our own engine means here."""
    if verdict != "refused" or reason == "duplicate_id":
        return Delivered(verdict, reason, target)
    return Failed(m.TARGET_ERROR, text or reason, retryable=reason in _MAY_CHANGE)


def _counted(message: InboxMessage, failed: Failed, now: int, settings: InboxSettings) -> InboxMessage:
    attempts = message.attempts + 1
    parked_for = m.HELD if not failed.retryable else m.ATTEMPTS_EXHAUSTED if is_exhausted(attempts, settings) else ""
    # An operator who paused it meanwhile is still obeyed.
    state = m.PAUSED if message.state == m.PAUSED else m.PARKED if parked_for else m.WAITING
    return message._replace(
        state=state,
        attempts=attempts,
        next_retry_at=next_retry_at(message, attempts, now, settings),
        tried_at=now,
        error=Fault(failed.kind, cut_text(failed.text, settings.error_text_max)),
        parked_for=parked_for,
    )


def delay_ms(attempts: int, settings: InboxSettings) -> int:
    """How long to wait after so many errors: `base ^ exponent` units, up to a cap.

    The exponent, what the cap bounds and what the maximum means are settings, because the document on scheduled batch
    processing and its program disagree on each of them.
    """
    exponent = attempts if settings.backoff_exponent == ATTEMPT else attempts - 1
    try:
        delay = int(settings.backoff_base**exponent * settings.backoff_unit)
    except OverflowError:
        delay = NEVER
    return delay if settings.backoff_cap_on == AGE else min(delay, settings.backoff_cap)


def next_retry_at(message: InboxMessage, attempts: int, now: int, settings: InboxSettings) -> int:
    """When a message that has failed so often, just now, is retried."""
    retry_at = after(now, delay_ms(attempts, settings))
    if settings.backoff_cap_on == AGE:
        # A message older than the cap is tried at every run: so says the rule, and the maximum ends it.
        retry_at = max(now, min(retry_at, after(message.ingested_at, settings.backoff_cap)))
    return retry_at


def is_exhausted(attempts: int, settings: InboxSettings) -> bool:
    """Never before its first error."""
    most = settings.max_attempts + 1 if settings.max_rule == EXCEEDED else settings.max_attempts
    return attempts >= max(most, 1)


def attempt_line(
    booked: InboxMessage, outcome: Outcome, request: str, now: int, settings: InboxSettings
) -> tuple[str, str, str, str] | None:
    """What the history says of an attempt: verdict (`failed` with its class, or the target's own), reason, request and
    answer, given the message as it was booked; None if there is nothing to keep. No rule reads it."""
    if isinstance(outcome, Expired):
        return None
    if isinstance(outcome, Delivered):
        verdict, reason, answer = outcome.verdict, outcome.reason, outcome.target
    elif is_counted(booked, outcome, now, settings):
        reason = outcome.kind if isinstance(outcome, Failed) else m.TARGET_ERROR
        verdict, answer = "failed", outcome.text
    else:
        return None
    most = settings.error_text_max
    return verdict, reason, cut_text(request, most), cut_text(answer, most)


def cut_text(text: str, limit: int) -> str:
    """The text of an error, never longer than the limit: its head, and the last of the causes behind it.

    Causes are lines that begin with `Caused by:`; the root of the trouble is in the last ones.
    """
    if len(text) <= limit:
        return text
    causes, at = [], 0
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith(_CAUSE):
            causes.append((at, line.strip()))
        at += len(line)
    head = max(limit // 2, limit - len(_CUT) - sum(len(line) + 1 for _, line in causes))
    tail = "\n".join(line for at, line in causes if at >= head)
    room = limit - head - len(_CUT)
    return text[:head] + _CUT + tail[-room:] if tail and room > 0 else text[:limit]

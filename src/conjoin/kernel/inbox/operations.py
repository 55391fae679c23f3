"""Operations: what a person can do with a message that is in the inbox.

Each is answered with the message as it is then, or with a refusal: a business no, with a code. What has ended stays
ended, and while a target is being called (`uncertain`) nobody interferes: the answer, or the end of the lease, comes
first. Whoever carries one out keeps the line that says who did it.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.message import (
    ATTEMPTS_EXHAUSTED,
    DELETED,
    ENDED,
    HELD,
    NOTHING,
    PARKED,
    PAUSED,
    UNCERTAIN,
    WAITING,
    Ending,
    Hint,
    InboxMessage,
)
from conjoin.kernel.inbox.retries import is_exhausted
from conjoin.kernel.inbox.settings import InboxSettings
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.times.iso8601 import instant_text

_MOST_ATTEMPTS = 2**31 - 1
"""What a column for it holds everywhere."""


@dataclass(frozen=True, slots=True)
class Pause:
    """Do not try it until it is resumed; at any number of attempts, and of a parked message too."""


@dataclass(frozen=True, slots=True)
class Resume:
    """Go on where it was paused: attempts and next retry are what they were."""


@dataclass(frozen=True, slots=True)
class RetryNow:
    """Try it at the next run, whatever its back-off. A parked message gets this one attempt more."""


@dataclass(frozen=True, slots=True)
class Release:
    """Begin anew with a parked message: no attempts, due at the next run."""


@dataclass(frozen=True, slots=True)
class SetAttempts:
    """Count anew. At the maximum it is parked, below it waits again."""

    attempts: int


@dataclass(frozen=True, slots=True)
class SetNextRetry:
    at: int


@dataclass(frozen=True, slots=True)
class Correct:
    """Mend what it carries or whom it is for, and try it anew at the next run. None: as it is.

    With a payload alone the hint stays, without its variables: they were those of the old payload.
    """

    payload: bytes | None = None
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Take it out for good. Its id stays known until the row is removed."""


Operation = Pause | Resume | RetryNow | Release | SetAttempts | SetNextRetry | Correct | Delete


class OperationRefused(NamedTuple):
    """`code` is one of `ended`, `uncertain`, `paused`, `not_paused`, `parked`, `not_parked`, `invalid`, `too_large`."""

    code: str
    text: str


class OperationLine(NamedTuple):
    """One line of what people did: when, who, what, and with which values."""

    message_key: int
    at: int
    who: str
    operation: str
    detail: dict[str, Any]


Answer = InboxMessage | OperationRefused


def operate(message: InboxMessage, operation: Operation, now: int, settings: InboxSettings) -> Answer:
    if message.state in ENDED:
        return OperationRefused("ended", f"the message is {message.state}")
    if message.state == UNCERTAIN:
        return OperationRefused("uncertain", "its target has been called and has not answered yet")
    return _OPERATE[type(operation)](message, operation, now, settings)


def operation_line(message: InboxMessage, operation: Operation, who: str, now: int) -> OperationLine:
    """The record of an operation. A payload is told by its size: the message has it."""
    given = {field.name: getattr(operation, field.name) for field in fields(operation)}
    if isinstance(operation, SetNextRetry):
        given["at"] = instant_text(operation.at)
    detail = {name: _told(value) for name, value in given.items() if value is not None}
    return OperationLine(message.key, now, who, _NAMES[type(operation)], detail)


def _told(value: object) -> object:
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    return {field: part for field, part in value._asdict().items() if part} if isinstance(value, Hint) else value


def _pause(message: InboxMessage, operation: Pause, now: int, settings: InboxSettings) -> Answer:
    return message._replace(state=PAUSED)


def _resume(message: InboxMessage, operation: Resume, now: int, settings: InboxSettings) -> Answer:
    if message.state != PAUSED:
        return OperationRefused("not_paused", f"the message is {message.state}")
    return message._replace(state=PARKED if message.parked_for else WAITING)


def _retry_now(message: InboxMessage, operation: RetryNow, now: int, settings: InboxSettings) -> Answer:
    if message.state == PAUSED:
        return OperationRefused("paused", "the message is paused; resume it first")
    return message._replace(state=WAITING, next_retry_at=now, parked_for="")


def _release(message: InboxMessage, operation: Release, now: int, settings: InboxSettings) -> Answer:
    if message.state != PARKED:
        return OperationRefused("not_parked", f"the message is {message.state}")
    return message._replace(state=WAITING, attempts=0, next_retry_at=now, parked_for="")


def _set_attempts(message: InboxMessage, operation: SetAttempts, now: int, settings: InboxSettings) -> Answer:
    attempts = operation.attempts
    if not 0 <= attempts <= _MOST_ATTEMPTS:
        return OperationRefused("invalid", f"attempts cannot be {attempts}")
    parked_for = ATTEMPTS_EXHAUSTED if is_exhausted(attempts, settings) else ""
    if message.parked_for == HELD:
        # It is not parked for their number, so changing it does not help.
        parked_for = HELD
    state = PAUSED if message.state == PAUSED else PARKED if parked_for else WAITING
    return message._replace(state=state, attempts=attempts, parked_for=parked_for)


def _set_next_retry(message: InboxMessage, operation: SetNextRetry, now: int, settings: InboxSettings) -> Answer:
    if message.parked_for:
        return OperationRefused("parked", "the message is parked; release it first")
    if not ALWAYS <= operation.at <= NEVER:
        return OperationRefused("invalid", f"there is no instant {operation.at}")
    return message._replace(next_retry_at=operation.at)


def _correct(message: InboxMessage, operation: Correct, now: int, settings: InboxSettings) -> Answer:
    if operation.payload is None and operation.hint is None:
        return OperationRefused("invalid", "neither a payload nor a hint is given")
    if operation.payload is not None and len(operation.payload) > settings.payload_max:
        return OperationRefused(
            "too_large", f"the payload has {len(operation.payload)} bytes, more than {settings.payload_max}"
        )
    corrected = message._replace(
        payload=message.payload if operation.payload is None else operation.payload,
        hint=_corrected_hint(message.hint, operation),
        state=PAUSED if message.state == PAUSED else WAITING,
        attempts=0,
        next_retry_at=now,
        error=None,
        parked_for="",
    )
    return corrected._replace(group_key=group_key_of(corrected))


def _corrected_hint(before: Hint, operation: Correct) -> Hint:
    if operation.hint is not None:
        return operation.hint
    return before if operation.payload is None else before._replace(variables=NOTHING)


def _delete(message: InboxMessage, operation: Delete, now: int, settings: InboxSettings) -> Answer:
    return message._replace(state=DELETED, ending=Ending("discarded", "deleted", now))


_OPERATE: dict[type, Callable[[InboxMessage, Any, int, InboxSettings], Answer]] = {
    Pause: _pause,
    Resume: _resume,
    RetryNow: _retry_now,
    Release: _release,
    SetAttempts: _set_attempts,
    SetNextRetry: _set_next_retry,
    Correct: _correct,
    Delete: _delete,
}

_NAMES: dict[type, str] = {
    Pause: "pause",
    Resume: "resume",
    RetryNow: "retry",
    Release: "release",
    SetAttempts: "set_attempts",
    SetNextRetry: "set_next_retry",
    Correct: "correct",
    Delete: "delete",
}

"""Operations: what an operator can do with a message that is in the inbox.

Each is answered with the message as it is then, or with a refusal: a business no, with a code. What has ended stays
ended, and while a target is being called (`uncertain`) nothing is changed: the answer, or the end of the lease, comes
first. `operation_line` says who did what, for the history.
"""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

from conjoin.kernel.inbox import message as m
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.message import Ending, Hint, InboxMessage
from conjoin.kernel.inbox.outcomes import is_exhausted
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
    """Change what it carries or whom it is for, and try it anew at the next run. None: as it is.

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


Answer = InboxMessage | OperationRefused


_NAMES: dict[type, str] = {
    **{Pause: "pause", Resume: "resume", RetryNow: "retry", Release: "release", SetAttempts: "set_attempts"},
    **{SetNextRetry: "set_next_retry", Correct: "correct", Delete: "delete"},
}


def operate(message: InboxMessage, operation: Operation, now: int, settings: InboxSettings) -> Answer:
    state = message.state
    if state in m.ENDED:
        return OperationRefused("ended", f"the message is {state}")
    if state == m.UNCERTAIN:
        return OperationRefused("uncertain", "its target has been called and has not answered yet")
    match operation:
        case Pause():
            return message._replace(state=m.PAUSED)
        case Resume():
            if state != m.PAUSED:
                return OperationRefused("not_paused", f"the message is {state}")
            return message._replace(state=m.PARKED if message.parked_for else m.WAITING)
        case RetryNow():
            if state == m.PAUSED:
                return OperationRefused("paused", "the message is paused; resume it first")
            return message._replace(state=m.WAITING, next_retry_at=now, parked_for="")
        case Release():
            if state != m.PARKED:
                return OperationRefused("not_parked", f"the message is {state}")
            return message._replace(state=m.WAITING, attempts=0, next_retry_at=now, parked_for="")
        case SetAttempts(attempts):
            return _set_attempts(message, attempts, settings)
        case SetNextRetry(at):
            if message.parked_for:
                return OperationRefused("parked", "the message is parked; release it first")
            if not ALWAYS <= at <= NEVER:
                return OperationRefused("invalid", f"there is no instant {at}")
            return message._replace(next_retry_at=at)
        case Correct(payload, hint):
            return _corrected(message, payload, hint, now, settings)
        case Delete():
            return message._replace(state=m.DELETED, ending=Ending("discarded", "deleted", now))


def _set_attempts(message: InboxMessage, attempts: int, settings: InboxSettings) -> Answer:
    if not 0 <= attempts <= _MOST_ATTEMPTS:
        return OperationRefused("invalid", f"attempts cannot be {attempts}")
    parked_for = m.ATTEMPTS_EXHAUSTED if is_exhausted(attempts, settings) else ""
    if message.parked_for == m.HELD:
        # It is not parked for their number, so changing it does not help.
        parked_for = m.HELD
    state = m.PAUSED if message.state == m.PAUSED else m.PARKED if parked_for else m.WAITING
    return message._replace(state=state, attempts=attempts, parked_for=parked_for)


def _corrected(
    message: InboxMessage, payload: bytes | None, hint: Hint | None, now: int, settings: InboxSettings
) -> Answer:
    if payload is None and hint is None:
        return OperationRefused("invalid", "neither a payload nor a hint is given")
    if payload is not None and len(payload) > settings.payload_max:
        return OperationRefused("too_large", f"the payload has {len(payload)} bytes, more than {settings.payload_max}")
    corrected = message._replace(
        payload=message.payload if payload is None else payload,
        hint=message.hint._replace(variables=m.NOTHING) if hint is None else hint,
        state=m.PAUSED if message.state == m.PAUSED else m.WAITING,
        attempts=0,
        next_retry_at=now,
        error=None,
        parked_for="",
    )
    return corrected._replace(group_key=group_key_of(corrected))


def operation_line(operation: Operation) -> tuple[str, dict[str, Any]]:
    """What the history says of an operation: its name and its values; of a payload only the size."""
    detail: dict[str, Any] = {}
    for each in fields(operation):
        name, value = each.name, getattr(operation, each.name)
        if isinstance(operation, SetNextRetry):
            detail[name] = instant_text(value)
        elif isinstance(value, bytes):
            detail[name] = f"{len(value)} bytes"
        elif isinstance(value, Hint):
            detail[name] = {field: part for field, part in value._asdict().items() if part}
        elif value is not None:
            detail[name] = value
    return _NAMES[type(operation)], detail

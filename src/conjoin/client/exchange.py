"""Exchanges: the calls of a client without any I/O.

A call is a generator: it yields what is to be done next (a request, a pause, items to hand out), is sent the outcome,
and returns its result. So every call is implemented once, and the two clients only carry it out. What a server does
not do is raised as the `CallFailed` that fits.
"""

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from conjoin import errors
from conjoin.errors import CallFailed

LATER = (502, 503, 504)
"""Statuses that say nothing about the request itself: a proxy has no server, or the server is busy."""
_BY_STATUS: dict[int, type[CallFailed]] = {
    **dict.fromkeys((400, 413, 415, 431), errors.CallInvalid),
    **dict.fromkeys((401, 403), errors.NotAllowed),
    **{404: errors.NotFound, 409: errors.WrongState, 501: errors.NotOffered},
    **{503: errors.ServerBusy, 504: errors.TookTooLong},
}
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_A = TypeVar("_A")
File = tuple[str, bytes]
"""A name and its content."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`purpose` describes it in an error; it is answered within the timeout of the client, plus `later_s`."""

    purpose: str
    method: str
    path: str
    body: bytes | None = None
    media_type: str = "application/json"
    query: Mapping[str, str] = field(default_factory=dict)
    files: Sequence[File] = ()
    fields: Mapping[str, str] = field(default_factory=dict)
    """Beside files, in the same form."""
    later_s: float = 0.0


class HttpAnswer(NamedTuple):
    status: int
    body: bytes
    retry_after: str = ""


class NoHttpAnswer(NamedTuple):
    """There is no answer. `was_sent`: the server may have got the request, and may have done what it asks."""

    text: str
    was_sent: bool


class RetryPause(NamedTuple):
    seconds: float


@dataclass(frozen=True, slots=True)
class HandOut(Generic[_A]):
    """Items for the iterator that the caller has."""

    items: Sequence[_A]


class Take(NamedTuple):
    """So many items of what the caller has given; fewer are the last."""

    most: int


class Handle(NamedTuple):
    """A job for the worker's function; what it returns or raises is sent back."""

    handler: Callable[[Any], Any]
    job: Any


Step = HttpRequest | RetryPause | Handle
Exchange = Generator[Step, Any, _A]
Found = Generator[Step | Take | HandOut[_A], Any, None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried, and the pause between two attempts: doubled each time, with jitter."""

    attempts: int = 6
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int, retry_after: str) -> float:
        pause = min(self.first_pause_s * float(2**attempt), self.longest_pause_s)
        wanted = float(retry_after) if retry_after.isdecimal() else 0.0
        return max(pause * random.uniform(0.5, 1.0), min(wanted, self.longest_pause_s))


class Heard(NamedTuple):
    """`maybe_done`: an earlier attempt has no answer, so this one may be the second to arrive."""

    answer: HttpAnswer
    maybe_done: bool


def always() -> bool:
    return True


def never() -> bool:
    return False


def sent(request: HttpRequest, patience: Patience, may_repeat: Callable[[], bool] = always) -> Exchange[Heard]:
    """Until there is an answer. `may_repeat` decides when an earlier attempt may have succeeded."""
    maybe_done = False
    for attempt in range(patience.attempts):
        answer = yield request
        if isinstance(answer, HttpAnswer) and answer.status not in LATER:
            return Heard(answer, maybe_done)
        if isinstance(answer, NoHttpAnswer):
            maybe_done, retry_after = maybe_done or answer.was_sent, ""
        else:
            maybe_done, retry_after = maybe_done or b'"RESOURCE_EXHAUSTED"' not in answer.body, answer.retry_after
        is_last = attempt == patience.attempts - 1
        if is_last or (maybe_done and not may_repeat()):
            break
        yield RetryPause(patience.pause_s(attempt, retry_after))
    if isinstance(answer, NoHttpAnswer):
        raise errors.NoAnswer(request.purpose, answer.text)
    raise problem_of(request, answer)


def problem_of(request: HttpRequest, answer: HttpAnswer) -> CallFailed:
    try:
        found = msgspec.json.decode(answer.body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        # A proxy in between may answer with anything.
        found = {}
    problem = found if isinstance(found, dict) else {}
    reason = str(problem.get("title", ""))
    kind = errors.AlreadyThere if reason == "ALREADY_EXISTS" else _BY_STATUS.get(answer.status, CallFailed)
    sentence = str(problem.get("detail") or f"the server answered with {answer.status}")
    return kind(request.purpose, sentence, reason, answer.status)


def body_of(heard: Heard, request: HttpRequest) -> bytes:
    """Of a success; anything else is raised."""
    if heard.answer.status >= 300:
        raise problem_of(request, heard.answer)
    return heard.answer.body


def encoded(value: Any) -> bytes:
    """As JSON; a Decimal keeps every digit."""
    return _ENCODER.encode(value)


def called(
    patience: Patience,
    request: HttpRequest,
    body: Any = None,
    may_repeat: Callable[[], bool] = always,
    gone_is_done: bool = False,
) -> Exchange[Any]:
    """The JSON that the server answers, None for an empty answer. `gone_is_done`: so may a second attempt find it."""
    request = request if body is None else replace(request, body=encoded(body))
    heard = yield from sent(request, patience, may_repeat)
    if gone_is_done and heard.maybe_done and heard.answer.status == 404:
        return None
    content = body_of(heard, request)
    return msgspec.json.decode(content) if content else None

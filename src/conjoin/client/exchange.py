"""Exchanges: the calls of a client without any I/O.

A call is a generator: it yields what is to be done next (a request, a pause, items to hand out), is sent the outcome,
and returns its result. So every call is implemented once, and the two clients only carry it out.
"""

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from conjoin.client.problems import problem_of
from conjoin.errors import NoAnswer

LATER = (502, 503, 504)
"""Statuses that say nothing about the request itself: a proxy has no server, or the server is busy."""
_ENCODER = msgspec.json.Encoder(decimal_format="number")
_A = TypeVar("_A")
File = tuple[str, bytes]
"""A name and its content."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """`asked` describes it in an error; it is answered within the timeout of the client, plus `later_s`."""

    asked: str
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

    job: Any


Exchange = Generator[HttpRequest | RetryPause, Any, _A]
Found = Generator[HttpRequest | RetryPause | Take | HandOut[_A], Any, None]
Work = Generator[HttpRequest | RetryPause | Handle, Any, None]


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is tried, and the pause between two attempts: doubled each time, with jitter."""

    attempts: int = 6
    first_pause_s: float = 0.1
    longest_pause_s: float = 5.0

    def pause_s(self, attempt: int, retry_after: str) -> float:
        pause = min(self.first_pause_s * float(2**attempt), self.longest_pause_s)
        told = float(retry_after) if retry_after.isdecimal() else 0.0
        return max(pause * random.uniform(0.5, 1.0), min(told, self.longest_pause_s))


class Heard(NamedTuple):
    """`maybe_done`: an earlier attempt has no answer, so this one may be the second to arrive."""

    answer: HttpAnswer
    maybe_done: bool


def _always() -> bool:
    return True


def never() -> bool:
    return False


def asked(request: HttpRequest, patience: Patience, may_repeat: Callable[[], bool] = _always) -> Exchange[Heard]:
    """Until there is an answer. `may_repeat` is asked when an earlier attempt may have succeeded."""
    maybe_done = False
    for attempt in range(patience.attempts):
        answer = yield request
        if isinstance(answer, HttpAnswer) and answer.status not in LATER:
            return Heard(answer, maybe_done)
        maybe_done = maybe_done or not _surely_not_done(answer)
        is_last = attempt == patience.attempts - 1
        if is_last or (maybe_done and not may_repeat()):
            break
        yield RetryPause(patience.pause_s(attempt, answer.retry_after if isinstance(answer, HttpAnswer) else ""))
    raise (
        NoAnswer(request.asked, answer.text)
        if isinstance(answer, NoHttpAnswer)
        else problem_of(request.asked, *answer[:2])
    )


def _surely_not_done(answer: HttpAnswer | NoHttpAnswer) -> bool:
    if isinstance(answer, NoHttpAnswer):
        return not answer.was_sent
    return b'"RESOURCE_EXHAUSTED"' in answer.body


def body_of(heard: Heard, request: HttpRequest) -> bytes:
    """Of a success; anything else is raised."""
    if heard.answer.status >= 300:
        raise problem_of(request.asked, heard.answer.status, heard.answer.body)
    return heard.answer.body


def done(request: HttpRequest, patience: Patience, gone_is_done: bool = False) -> Exchange[bytes]:
    """The body of a call that may be repeated. `gone_is_done`: the second attempt finds nothing left to do."""
    heard = yield from asked(request, patience)
    if gone_is_done and heard.maybe_done and heard.answer.status == 404:
        return b""
    return body_of(heard, request)


def encoded(value: Any) -> bytes:
    """As JSON; a Decimal keeps every digit."""
    return _ENCODER.encode(value)


def answered(patience: Patience, asks: str, method: str, path: str, body: Any = None, **query: str) -> Exchange[Any]:
    """The JSON that a call answers which may be repeated; None if it answers nothing."""
    request = HttpRequest(asks, method, path, None if body is None else encoded(body), query=query)
    return json_of((yield from done(request, patience)))


def json_of(body: bytes) -> Any:
    return msgspec.json.decode(body) if body else None

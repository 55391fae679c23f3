"""A call as values: the request that a message becomes, the answer, and the outcome that an answer means.

What lies with the target or its settings may fix itself, so it is retried: an operator who fixes the address finds no
parked messages. What lies with the message (400, 413, 422) is held for an operator. Where a proxy gave up waiting
(502, 504) the target may have it. Texts begin with one readable line; causes follow. No sockets here.
"""

from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR, TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered
from conjoin.runtime.codec.json_text import NOT_JSON, json_bytes, read_client_json, unstorable_json

PAYLOAD = "payload"
JSON_ENCODINGS = ("json", "application/json")
TEXT_ENCODINGS = ("text", "string", "text/plain", "xml", "application/xml", "text/xml", "csv", "text/csv", "yaml")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_HELD = (400, 413, 414, 422)
_UNKNOWN = (502, 504)
_BODY_SHOWN = 2_000

_ADVICE = {
    400: "it cannot use this message as it is",
    401: "it does not accept our credentials; fix them and it is retried",
    403: "our credentials do not allow this; fix them and it is retried",
    404: "there is nothing at this address; is the url right?",
    405: "there is something else at this address; is the url right?",
    408: "it did not get the request in time",
    413: "the message is too large for it",
    429: "it asks for fewer calls",
    502: "a proxy before it got no answer; it may have the message",
    503: "it is busy or not ready",
    504: "it was not done in time; it may have the message",
}


@dataclass(frozen=True, slots=True)
class HttpLimits:
    connect_timeout_ms: int = 5_000
    answer_timeout_ms: int = 30_000
    """For sending the request, and again for the whole answer."""
    calls_in_flight: int = 8
    """More callers wait for their turn."""
    answer_max: int = 1_048_576
    """Bytes; of a longer answer the beginning is kept."""


class CallBroken(Exception):  # noqa: N818 - it is what happened, and nobody's mistake
    """A call without an answer: why, in one line whatever the other side sent, and how far it got."""

    def __init__(self, cause: BaseException, is_connected: bool, is_sent: bool) -> None:
        super().__init__(f"{type(cause).__name__}: {' '.join(str(cause).split())}")
        self.cause, self.is_connected, self.is_sent = cause, is_connected, is_sent


class TargetRequest(NamedTuple):
    """`path` is added to that of the target's address; the body is JSON."""

    method: str
    path: str
    body: bytes


class TargetAnswer(NamedTuple):
    """The two headers are empty where the target sends none. A body that is too long has only its beginning."""

    status: int
    body: bytes = b""
    retry_after: str = ""
    location: str = ""


class TargetDialect(Protocol):
    """How one kind of target is called, and what its answers mean. Both are pure: the same in, the same out."""

    def request_of(self, message: InboxMessage, now: int) -> TargetRequest | Failed: ...

    def outcome_of(self, answer: TargetAnswer) -> Delivered | Failed | Unanswered: ...


def variables_of(message: InboxMessage) -> Mapping[str, Any] | Failed:
    """Those of the hint, or else what the payload holds.

    An object in JSON is a table of variables; any other payload becomes the one variable `payload`: JSON as its value,
    text as text, everything else in base64. One that is not what its encoding says is held: it would fail again.
    """
    variables, source = message.hint.variables, "variables of the hint"
    if not variables and message.payload:
        try:
            value = _decoded(message.payload, message.encoding)
        except NOT_JSON as error:
            text = f"the payload is not {message.encoding}\nCaused by: {type(error).__name__}: {error}"
            return Failed(DECODE_ERROR, text, retryable=False)
        variables, source = value if isinstance(value, dict) else {PAYLOAD: value}, "payload"
    problem = unstorable_json(variables)
    return variables if problem is None else unmapped(f"the {source} cannot be stored: what is there {problem}")


def _decoded(payload: bytes, encoding: str) -> Any:
    if encoding in JSON_ENCODINGS:
        return read_client_json(payload.removeprefix(_BYTE_ORDER_MARK))
    if encoding in TEXT_ENCODINGS:
        return payload.decode("utf-8-sig")
    return b64encode(payload).decode()


def posted(path: str, body: Mapping[str, Any]) -> TargetRequest | Failed:
    try:
        return TargetRequest("POST", path, json_bytes(body))
    except (TypeError, ValueError, RecursionError) as error:
        return unmapped(f"the hint cannot be written as JSON\nCaused by: {type(error).__name__}: {error}")


def unmapped(text: str) -> Failed:
    """A mapping error. The same message and the same settings give it again, so it waits for an operator."""
    return Failed(MAPPING_ERROR, text, retryable=False)


def failure_of(label: str, answer: TargetAnswer, cause: str = "") -> Failed | Unanswered:
    """Of an answer that is no success. `cause` is the target's own explanation, if it is not simply the body."""
    retry_after = f" (Retry-After: {answer.retry_after[:80]})" if answer.retry_after else ""
    text = f"{label} answered {answer.status}{_advice(answer)}{retry_after}{_cause(cause or _shown(answer.body))}"
    if answer.status in _UNKNOWN:
        return Unanswered(text)
    return Failed(TARGET_ERROR, text, retryable=answer.status not in _HELD)


def garbled(label: str, answer: TargetAnswer) -> Unanswered:
    """A success that is none of this target's answers: it may come from a proxy."""
    head = f"{label} answered {answer.status}, but not in its own words; it may have the message"
    return Unanswered(head + _cause(_shown(answer.body) or "the answer is empty"))


def read_answer(body: bytes) -> Any:
    """The JSON of an answer; None if it is none."""
    try:
        return read_client_json(body)
    except NOT_JSON:
        return None


def _shown(body: bytes) -> str:
    """The beginning of a body as one line."""
    return " ".join(body[:_BODY_SHOWN].decode("utf-8", "replace").split())


def _cause(text: str) -> str:
    return f"\nCaused by: {text}" if text else ""


def _advice(answer: TargetAnswer) -> str:
    if not 300 <= answer.status < 400:
        advice = _ADVICE.get(answer.status)
        return f": {advice}" if advice else ""
    try:
        parts = urlsplit(answer.location)
    except ValueError:
        return ": it sends us on, and we do not follow; is the url right?"
    # What follows the path may hold secrets.
    to = f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path
    return f": it sends us on{f' to {to[:200]}' if to else ''}, and we do not follow; is the url right?"

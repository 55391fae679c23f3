"""What an answer means that is no success, whoever gave it.

What lies with the target or its settings may mend itself, so it is retried: a person who mends the address finds no
parked messages. What lies with the message (400, 413, 422) is held for a person. Where a middleman gave up waiting
(502, 504) nobody knows, and that is said. The text begins with one readable line; causes follow.
"""

from typing import Any
from urllib.parse import urlsplit

from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.targets.calls import TargetAnswer

_HELD = (400, 413, 414, 422)
_UNKNOWN = (502, 504)
_BODY_SHOWN = 2_000

_ADVICE = {
    400: "it cannot use this message as it is",
    401: "it does not accept our credentials; mend them and it is tried again",
    403: "our credentials do not allow this; mend them and it is tried again",
    404: "there is nothing at this address; is the url right?",
    405: "there is something else at this address; is the url right?",
    408: "it did not get the request in time",
    413: "the message is too large for it",
    429: "it asks for fewer calls",
    502: "who stands before it got no answer; it may have the message",
    503: "it is busy or not ready",
    504: "it was not done in time; it may have the message",
}


def failure_of(label: str, answer: TargetAnswer, told: str = "") -> Failed | Unanswered:
    """`told` is what the target itself says; without it the beginning of the body is shown."""
    text = f"{label} answered {answer.status}{_advice(answer)}{_waiting(answer)}{_cause(told or shown(answer.body))}"
    if answer.status in _UNKNOWN:
        return Unanswered(text)
    return Failed(TARGET_ERROR, text, retryable=answer.status not in _HELD)


def garbled(label: str, answer: TargetAnswer) -> Unanswered:
    """A success that is none of this target's answers: it may come from somebody else on the way."""
    head = f"{label} answered {answer.status}, but not in its own words; it may have the message"
    return Unanswered(head + _cause(shown(answer.body) or "the answer is empty"))


def read_answer(body: bytes) -> Any:
    """The JSON of an answer; None if it is none."""
    try:
        return read_client_json(body)
    except NOT_JSON:
        return None


def shown(body: bytes) -> str:
    """The beginning of a body as one line."""
    return " ".join(body[:_BODY_SHOWN].decode("utf-8", "replace").split())


def _advice(answer: TargetAnswer) -> str:
    if 300 <= answer.status < 400:
        return f": it sends us on{_to(answer.location)}, and we do not follow; is the url right?"
    advice = _ADVICE.get(answer.status)
    return f": {advice}" if advice else ""


def _to(location: str) -> str:
    """Where to; what follows the path may hold secrets."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    place = f"{parts.scheme}://{parts.hostname}{parts.path}" if parts.hostname else parts.path
    return f" to {place[:200]}" if place else ""


def _waiting(answer: TargetAnswer) -> str:
    return f" (Retry-After: {answer.retry_after[:80]})" if answer.retry_after else ""


def _cause(told: str) -> str:
    return f"\nCaused by: {told}" if told else ""

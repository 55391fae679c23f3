"""Statuses: the one table from the code of a refusal or an error to what gRPC and HTTP call it.

A refusal is a business no; its client should change something. An error is the world's; what is not in the table of
errors would be a mistake of ours, and a test proves that nothing is missing.
"""

from dataclasses import dataclass
from typing import NamedTuple

from conjoin.errors import ConjoinError
from conjoin.runtime.client_api.answers import Refusal


class Status(NamedTuple):
    grpc: str
    """The name of a `grpc.StatusCode`."""
    http: int


STATUSES: dict[str, Status] = {
    # Refusals of the engine.
    "NOT_FOUND": Status("NOT_FOUND", 404),
    "ALREADY_EXISTS": Status("ALREADY_EXISTS", 409),
    "INVALID_ARGUMENT": Status("INVALID_ARGUMENT", 400),
    "INVALID_STATE": Status("FAILED_PRECONDITION", 409),
    # Refusals of the gateway itself.
    "UNAUTHENTICATED": Status("UNAUTHENTICATED", 401),
    "TOO_MANY_REQUESTS": Status("RESOURCE_EXHAUSTED", 429),
    "FORBIDDEN": Status("PERMISSION_DENIED", 403),
    "TOO_LARGE": Status("RESOURCE_EXHAUSTED", 413),
    "RESOURCE_EXHAUSTED": Status("RESOURCE_EXHAUSTED", 503),
    "UNAVAILABLE": Status("UNAVAILABLE", 503),
    "DEADLINE_EXCEEDED": Status("DEADLINE_EXCEEDED", 504),
    "UNIMPLEMENTED": Status("UNIMPLEMENTED", 501),
    # Refusals of the inbox.
    "not_found": Status("NOT_FOUND", 404),
    "ended": Status("FAILED_PRECONDITION", 409),
    "uncertain": Status("FAILED_PRECONDITION", 409),
    "paused": Status("FAILED_PRECONDITION", 409),
    "not_paused": Status("FAILED_PRECONDITION", 409),
    "parked": Status("FAILED_PRECONDITION", 409),
    "not_parked": Status("FAILED_PRECONDITION", 409),
    "moving": Status("FAILED_PRECONDITION", 409),
    "invalid": Status("INVALID_ARGUMENT", 400),
    "too_large": Status("RESOURCE_EXHAUSTED", 413),
    # Errors, by their code.
    "error": Status("INTERNAL", 500),
    "settings": Status("INTERNAL", 500),
    "extra": Status("INTERNAL", 500),
    "java": Status("INTERNAL", 500),
    "spark": Status("INTERNAL", 500),
    "input": Status("INVALID_ARGUMENT", 400),
    "model": Status("INVALID_ARGUMENT", 400),
    "policy": Status("INVALID_ARGUMENT", 400),
    "too_much": Status("FAILED_PRECONDITION", 409),
    "endless": Status("FAILED_PRECONDITION", 409),
    "instance_too_large": Status("FAILED_PRECONDITION", 409),
    "store_missing": Status("UNAVAILABLE", 503),
    "store_exists": Status("INTERNAL", 500),
    "store_too_new": Status("INTERNAL", 500),
    "store_in_use": Status("UNAVAILABLE", 503),
    "store_unfinished": Status("UNAVAILABLE", 503),
    "store_damaged": Status("UNAVAILABLE", 503),
    "store_failed": Status("UNAVAILABLE", 503),
    # The status of both protocols that says "perhaps it was done".
    "outcome_unknown": Status("DEADLINE_EXCEEDED", 504),
    "read_stopped": Status("UNAVAILABLE", 503),
}

_GATEWAYS_OWN = frozenset(
    {
        "UNAUTHENTICATED",
        "TOO_MANY_REQUESTS",
        "TOO_LARGE",
        "RESOURCE_EXHAUSTED",
        "UNAVAILABLE",
        "DEADLINE_EXCEEDED",
        "UNIMPLEMENTED",
    }
)
MISTAKE = Status("INTERNAL", 500)
"""Of an exception that is none of ours."""


@dataclass(frozen=True, slots=True)
class TooManyRequests(Refusal):
    """Of one caller; others are answered."""

    retry_after_s: int


def status_of(problem: Refusal | ConjoinError) -> Status:
    return STATUSES[problem.code]


def rejection(intent: str, refusal: Refusal) -> str:
    """What clients read, in the words that they know from Zeebe. What the gateway says by itself is no rejection."""
    if refusal.code in _GATEWAYS_OWN:
        return refusal.text
    return f"Command '{intent}' rejected with code '{refusal.code}': {refusal.text.removeprefix('Refused: ')}"

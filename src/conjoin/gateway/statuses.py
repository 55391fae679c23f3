"""Statuses: the one table from the code of a refusal or an error to its status in gRPC and HTTP.

A refusal is a business no: its client should change something. An error means that something failed. A test proves that
no code is missing.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from conjoin.errors import ConjoinError
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import Call, Calls


class Status(NamedTuple):
    grpc: str
    """The name of a `grpc.StatusCode`."""
    http: int


_CODES: Mapping[Status, tuple[str, ...]] = {
    Status("NOT_FOUND", 404): ("NOT_FOUND", "not_found"),
    Status("ALREADY_EXISTS", 409): ("ALREADY_EXISTS",),
    Status("INVALID_ARGUMENT", 400): ("INVALID_ARGUMENT", "invalid", "input", "model", "policy"),
    Status("FAILED_PRECONDITION", 409): (
        "INVALID_STATE",
        *("ended", "uncertain", "paused", "not_paused", "parked", "not_parked", "moving"),
        *("too_much", "endless", "instance_too_large"),
    ),
    Status("UNAUTHENTICATED", 401): ("UNAUTHENTICATED",),
    Status("RESOURCE_EXHAUSTED", 429): ("TOO_MANY_REQUESTS",),
    Status("PERMISSION_DENIED", 403): ("FORBIDDEN",),
    Status("RESOURCE_EXHAUSTED", 413): ("TOO_LARGE", "too_large"),
    Status("RESOURCE_EXHAUSTED", 503): ("RESOURCE_EXHAUSTED",),
    Status("UNAVAILABLE", 503): (
        *("UNAVAILABLE", "store_missing", "store_in_use", "store_unfinished", "store_damaged", "store_failed"),
        *("read_stopped", "registry_failed"),
    ),
    # The status of both protocols that means "perhaps it was done".
    Status("DEADLINE_EXCEEDED", 504): ("DEADLINE_EXCEEDED", "outcome_unknown"),
    Status("UNIMPLEMENTED", 501): ("UNIMPLEMENTED",),
    Status("INTERNAL", 500): ("error", "settings", "extra", "java", "spark", "store_exists", "store_too_new"),
}
"""Codes in capitals are refusals of the engine and the gateway; the others are errors, and refusals of the inbox."""
STATUSES: Mapping[str, Status] = {code: status for status, codes in _CODES.items() for code in codes}
INTENTS: Mapping[Callable[..., Call[Any]], str] = {
    Calls.publish: "PUBLISH",
    Calls.correlate: "CORRELATE",
    Calls.broadcast_signal: "BROADCAST",
    Calls.create_instance: "CREATE",
    Calls.cancel_instance: "CANCEL",
    Calls.set_variables: "UPDATE",
    Calls.resolve_incident: "RESOLVE",
    Calls.complete_job: "COMPLETE",
    Calls.fail_job: "FAIL",
    Calls.throw_error: "THROW_ERROR",
    Calls.update_retries: "UPDATE_RETRIES",
    Calls.update_timeout: "UPDATE_TIMEOUT",
    Calls.assign_task: "ASSIGN",
}
"""What Zeebe calls the command of a call, for the text of a rejection."""
_GATEWAYS_OWN = frozenset(
    {"UNAUTHENTICATED", "TOO_MANY_REQUESTS", "TOO_LARGE", "RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED"}
    | {"UNIMPLEMENTED"}
)
MISTAKE = Status("INTERNAL", 500)
"""The status of an internal error: an exception that is none of ours."""


@dataclass(frozen=True, slots=True)
class TooManyRequests(Refusal):
    """From one caller; others are served."""

    retry_after_s: int


def status_of(problem: Refusal | ConjoinError) -> Status:
    return STATUSES[problem.code]


def rejection(intent: str, refusal: Refusal) -> str:
    """The text for clients, in the words that they know from Zeebe. A refusal of the gateway itself is no rejection."""
    if refusal.code in _GATEWAYS_OWN:
        return refusal.text
    return f"Command '{intent}' rejected with code '{refusal.code}': {refusal.text.removeprefix('Refused: ')}"

"""The table of statuses is complete: whatever can be refused or raised has a status in gRPC and in HTTP."""

import re
from collections.abc import Iterator
from pathlib import Path

import grpc

import conjoin
from conjoin.errors import ConjoinError
from conjoin.gateway.statuses import STATUSES, rejection
from conjoin.runtime.client_api.answers import CODES, Refusal

ROOT = Path(conjoin.__file__).parent


def errors(kind: type[ConjoinError] = ConjoinError) -> Iterator[type[ConjoinError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from errors(below)


def refusal_codes() -> set[str]:
    """Every code that is written anywhere in the sources."""
    written = re.compile(r'(?:Refusal|CommandRefused)\(\s*"(\w+)"')
    return {code for file in ROOT.rglob("*.py") for code in written.findall(file.read_text(encoding="utf-8"))}


def test_every_error_has_a_status() -> None:
    assert {kind.code for kind in errors()} <= STATUSES.keys()


def test_every_refusal_has_a_status() -> None:
    assert refusal_codes() | set(CODES) <= STATUSES.keys()


def test_every_status_is_one_of_grpc_and_http() -> None:
    assert all(status.grpc in grpc.StatusCode.__members__ for status in STATUSES.values())
    assert all(400 <= status.http < 600 for status in STATUSES.values())


def test_what_the_world_may_mend_by_itself_invites_to_try_again() -> None:
    retryable = {kind.code: STATUSES[kind.code].http for kind in errors() if kind.retryable}
    assert retryable == {
        "spark": 500,
        "registry_failed": 503,
        "store_failed": 503,
        "read_stopped": 503,
        "UNAVAILABLE": 503,
        "RESOURCE_EXHAUSTED": 503,
    }


def test_rejection_is_told_as_zeebe_tells_it() -> None:
    text = rejection("PUBLISH", Refusal("ALREADY_EXISTS", "the id is taken"))
    assert text == "Command 'PUBLISH' rejected with code 'ALREADY_EXISTS': the id is taken"
    assert rejection("PUBLISH", Refusal("RESOURCE_EXHAUSTED", "try again")) == "try again"

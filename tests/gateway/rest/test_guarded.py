"""What stands before and around the endpoints: the guard, readiness, a store that fails, and our own mistakes."""

from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from conjoin.errors import OutcomeUnknown, StoreDamaged, StoreFailed
from conjoin.gateway.guard import Admitted
from conjoin.gateway.rest.app import make_app
from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal
from tests.gateway.rest.conftest import Rest, RestThread

PUBLICATION = {"name": "guarded", "correlationKey": "g"}


class OnlyWithToken:
    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        refused = Refusal("UNAUTHENTICATED", f"{call} needs a token")
        return Admitted(service) if headers.get("authorization") else refused

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        pass


def asked(server: RestThread, method: str, path: str, is_ready: bool = True, **more: Any) -> httpx.Response:
    """Of an application of its own around the same service."""

    async def ask(service: Service) -> httpx.Response:
        before = list(service.listeners)
        app = make_app(service, OnlyWithToken(), lambda: is_ready)
        service.listeners[:] = before
        transport = httpx.ASGITransport(app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(method, path, **more)

    return server.run(ask)


def test_guard_is_asked_before_anything_is_read(rest_server: RestThread) -> None:
    denied = asked(rest_server, "POST", "/v2/messages/publication", content=b"{")
    assert (denied.status_code, denied.json()["detail"]) == (401, "POST /v2/messages/publication needs a token")
    assert denied.headers["www-authenticate"].startswith("Basic")
    token = {"authorization": "Bearer t"}
    assert asked(rest_server, "POST", "/v2/messages/publication", json=PUBLICATION, headers=token).status_code == 200


def test_health_needs_no_token_and_readiness_ends_before_the_process(rest_server: RestThread) -> None:
    assert asked(rest_server, "GET", "/metrics").status_code == 401
    assert asked(rest_server, "GET", "/health/ready").status_code == 200
    stopping = asked(rest_server, "GET", "/health/ready", is_ready=False)
    assert (stopping.status_code, stopping.json()["status"]) == (503, "DOWN")
    assert asked(rest_server, "GET", "/health/live", is_ready=False).status_code == 200


def test_why_it_is_not_ready_is_told_to_whoever_may_read_the_metrics(rest_server: RestThread) -> None:
    token = {"authorization": "Bearer t"}
    why = asked(rest_server, "GET", "/health/ready", is_ready=False, headers=token).json()["problems"]
    assert "the server is stopping" in why
    elsewhere = {"host": "evil.example", **token}
    for headers in ({}, elsewhere):
        stranger = asked(rest_server, "GET", "/health/ready", is_ready=False, headers=headers)
        assert (stranger.status_code, "stopping" in stranger.text) == (503, False)


@pytest.mark.parametrize(
    ("error", "status", "retry_after"),
    [
        (StoreFailed("the disk is full"), 503, "1"),
        (StoreDamaged("shard-01.db", "malformed"), 503, None),
        (OutcomeUnknown("the disk failed"), 504, None),
        (ValueError("a secret"), 500, None),
    ],
)
def test_failures_of_the_world_say_what_and_our_mistakes_do_not(
    rest: Rest,
    rest_server: RestThread,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    status: int,
    retry_after: str | None,
) -> None:
    async def fail(*what: object) -> None:
        raise error

    monkeypatch.setattr(rest_server.service, "call", fail)
    # The server ends a connection after a mistake of its own, and the next test shall not meet that end.
    answer = rest.post("/v2/messages/publication", json=PUBLICATION, headers={"connection": "close"})
    assert (answer.status_code, answer.headers.get("retry-after")) == (status, retry_after)
    assert (str(error)[:10] in answer.text, "secret" in answer.text) == (status != 500, False)


def test_too_many_requests_are_told_to_come_again(
    rest: Rest, rest_server: RestThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rest_server.service._dispatcher, "_most", 0)
    answer = rest.post("/v2/messages/publication", json=PUBLICATION)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.json()["title"] == "RESOURCE_EXHAUSTED"

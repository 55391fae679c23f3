"""Request ids: in every answer, in every problem, in the log, and the client's own if it is sane."""

import logging
from collections.abc import Iterator
from typing import Any

import grpc
import httpx
import pytest

from conjoin.gateway.grpc.wire import WIRE
from conjoin.gateway.service import Service
from conjoin.logs import TextLines, id_of
from tests.gateway.server_thread import ServerThread


@pytest.fixture(scope="module")
def server() -> Iterator[ServerThread]:
    made = ServerThread(1)
    yield made
    made.stop()


@pytest.mark.parametrize("given", ["a", "0af7651916cd43dd8448eb211c80319c", "Root=1-67891233-abcdef012345678912345678"])
def test_sane_id_of_a_client_is_kept(given: str) -> None:
    assert id_of(given) == given


@pytest.mark.parametrize("given", [None, "", " ", "a b", "a\nb", "x" * 65, "é", "<script>", '"'])
def test_other_ids_are_not(given: str | None) -> None:
    assert id_of(given) not in (given, id_of(given))


@pytest.mark.parametrize("path", ["/health/live", "/v2/topology", "/nowhere", "/conjoin/v1/messages/x", "/", "/docs"])
def test_every_answer_has_one(server: ServerThread, path: str) -> None:
    answer = httpx.get(server.rest + path, headers={"X-Request-Id": "mine-1"})
    assert answer.headers["x-request-id"] == "mine-1"
    own = httpx.get(server.rest + path).headers["x-request-id"]
    assert own
    assert own != "mine-1"


def test_problem_names_it(server: ServerThread) -> None:
    answer = httpx.get(f"{server.rest}/nowhere")
    assert answer.json()["requestId"] == answer.headers["x-request-id"]


def published(server: ServerThread, *metadata: tuple[str, str]) -> Any:
    with grpc.insecure_channel(server.grpc) as channel:
        publish = channel.unary_unary(
            "/gateway_protocol.Gateway/PublishMessage",
            request_serializer=lambda it: it.SerializeToString(),
            response_deserializer=WIRE["PublishMessageResponse"].FromString,
        )
        try:
            return publish.with_call(WIRE["PublishMessageRequest"](name="m"), metadata=metadata)[1]
        except grpc.RpcError as error:
            return error


def test_grpc_tells_it_at_the_end(server: ServerThread) -> None:
    assert dict(published(server, ("x-request-id", "mine-2")).trailing_metadata())["x-request-id"] == "mine-2"
    assert dict(published(server).trailing_metadata())["x-request-id"]


def test_mistake_of_ours_has_the_same_id_in_the_answer_and_in_the_log(
    server: ServerThread, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(self: Service, *what: Any) -> None:
        raise ZeroDivisionError("for the test")

    lines: list[str] = []

    class Lines(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(TextLines().format(record))

    handler = Lines()
    logging.getLogger("conjoin").addHandler(handler)
    monkeypatch.setattr(Service, "call", broken)
    answer = httpx.post(f"{server.rest}/v2/messages/publication", json={"name": "m", "correlationKey": "k"})
    call = published(server)
    logging.getLogger("conjoin").removeHandler(handler)
    id_ = answer.headers["x-request-id"]
    assert answer.status_code == 500
    assert answer.json()["detail"].startswith(f"Internal error (request id {id_})")
    assert "ZeroDivisionError" not in answer.text
    other = dict(call.trailing_metadata())["x-request-id"]
    assert (call.code().name, f"request id {other}" in call.details()) == ("INTERNAL", True)
    assert [f"[request {it}]" in line for it, line in zip((id_, other), lines, strict=True)] == [True, True]
    assert all("ZeroDivisionError: for the test" in line for line in lines)
    assert caplog.records

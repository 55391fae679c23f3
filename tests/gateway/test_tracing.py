"""Traces: what a span of a call says and does not say, whose trace it belongs to, and that nothing happens when off."""

import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from threading import Condition
from typing import Any

import httpx
import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from conjoin.errors import SettingsError
from conjoin.gateway.monitoring.tracing import Tracing, begin
from conjoin.gateway.serving import Served
from conjoin.settings import load
from tests.gateway.grpc_client import Client
from tests.gateway.server_thread import ServerThread

TRACE, ABOVE = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TRACEPARENT = f"00-{TRACE}-{ABOVE}-01"
PUBLISH = "gateway_protocol.Gateway/PublishMessage"


class Kept(InMemorySpanExporter):
    """A span may end a moment after its caller has the answer."""

    def __init__(self) -> None:
        super().__init__()
        self._news = Condition()

    def export(self, spans: Sequence[Any]) -> Any:
        with self._news:
            self._news.notify()
            return super().export(spans)

    def first(self, count: int) -> tuple[Any, ...]:
        with self._news:
            assert self._news.wait_for(lambda: len(self.get_finished_spans()) >= count, timeout=10)
        return self.get_finished_spans()


@pytest.fixture(scope="module")
def exporter() -> Kept:
    return Kept()


@pytest.fixture(scope="module")
def traced(exporter: Kept) -> Iterator[ServerThread]:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    server = ServerThread(served=Served(grpc_port=0, rest_port=0, traces=Tracing(provider)))
    yield server
    server.stop()


@pytest.fixture
def spans(exporter: Kept) -> Callable[[int], tuple[Any, ...]]:
    exporter.clear()
    return exporter.first


def test_grpc_publish_is_a_span_without_a_variable(traced: ServerThread, spans: Any) -> None:
    client = Client(traced.grpc)
    client.PublishMessage(name="paid", correlationKey="o-1", variables='{"card": "4111"}', tenantId="acme")
    client.Topology()
    client.close()
    published, asked = spans(2)
    assert (published.name, published.status.status_code) == (PUBLISH, StatusCode.UNSET)
    said = {name: value for name, value in published.attributes.items() if name.startswith(("conjoin", "rpc.grpc"))}
    assert said == {
        "conjoin.name": "paid",
        "conjoin.tenant": "acme",
        "conjoin.verdict": "accepted",
        "rpc.grpc.status_code": 0,
    }
    assert "4111" not in published.to_json()
    assert asked.name == "gateway_protocol.Gateway/Topology"


def test_refusal_is_told_and_is_no_failure_of_the_server(traced: ServerThread, spans: Any) -> None:
    client = Client(traced.grpc)
    client.refused("PublishMessage", name="", correlationKey="k")
    client.refused("ActivateJobs", type="", worker="w", timeout=1, maxJobsToActivate=1)
    client.close()
    published, activated = spans(2)
    assert published.attributes["conjoin.verdict"] == "invalid_argument"
    assert [span.attributes["rpc.grpc.status_code"] for span in (published, activated)] == [3, 3]
    assert published.status.status_code is StatusCode.UNSET


def test_rest_calls_are_named_by_their_route_and_belong_to_the_trace_of_their_caller(
    traced: ServerThread, spans: Any
) -> None:
    with httpx.Client(base_url=traced.rest, headers={"traceparent": TRACEPARENT}) as http:
        http.post("/v2/messages/publication", json={"name": "paid", "variables": {"card": "4111"}})
        http.get("/conjoin/v1/messages/77")
        http.get("/health/ready")
    published, missing = spans(2)
    assert (published.name, published.attributes["conjoin.verdict"]) == ("POST /v2/messages/publication", "accepted")
    assert (missing.name, missing.attributes["http.response.status_code"]) == (
        "GET /conjoin/v1/messages/{messageKey}",
        404,
    )
    for span in (published, missing):
        assert f"{span.context.trace_id:032x}" == TRACE
        assert f"{span.parent.span_id:016x}" == ABOVE
    assert "4111" not in published.to_json()


def test_traces_are_off_unless_somebody_says_where_to(monkeypatch: pytest.MonkeyPatch) -> None:
    assert begin(None, {"OTEL_SERVICE_NAME": "orders"}) is None
    assert load().traces is None
    for traces in ("x", 1):
        with pytest.raises(SettingsError):
            load(traces=traces)
    monkeypatch.setenv("CONJOIN_SERVER", '{"trace": "http://x"}')
    with pytest.raises(SettingsError):
        load()
    program = "import conjoin.gateway.serving, sys; sys.exit('opentelemetry' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_address_in_the_environment_begins_a_trace() -> None:
    tracing = begin(None, {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
    assert tracing is not None
    tracing.close()

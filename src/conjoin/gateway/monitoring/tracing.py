"""Traces: a span for each call of gRPC and REST, for a collector of OpenTelemetry. Off by default.

A span has the name of the call, the tenant, the name of the message or process, and the outcome; never a variable.
While tracing is off, nothing of OpenTelemetry is imported.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from conjoin import __version__
from conjoin.errors import ExtraMissing
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import NewInstance
from conjoin.runtime.client_api.messages import NewMessage

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

ENVIRONMENT = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""OpenTelemetry's own variables, which its exporter reads itself."""
_LONGEST_EXPORT_S = 5
_NOTES: ContextVar[dict[str, str] | None] = ContextVar("notes", default=None)
_A = TypeVar("_A")


def noted(about: object, answer: _A) -> _A:
    """Returns the answer, and notes in the span of the call, if there is one, which message or instance it is about."""
    notes = _NOTES.get()
    if notes is not None and isinstance(about, NewMessage | NewInstance):
        name = about.name if isinstance(about, NewMessage) else about.process_id
        verdict = answer.code.lower() if isinstance(answer, Refusal) else "accepted"
        notes |= {"conjoin.name": name, "conjoin.tenant": about.tenant_id, "conjoin.verdict": verdict}
    return answer


class Tracing:
    """Spans of calls, made by one provider. `close` sends what is left."""

    def __init__(self, provider: "TracerProvider") -> None:
        from opentelemetry.trace import SpanKind, Status, StatusCode
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        self._provider = provider
        self._tracer = provider.get_tracer("conjoin", __version__)
        self._incoming = TraceContextTextMapPropagator()
        self._kind = SpanKind.SERVER
        self._failed = Status(StatusCode.ERROR)

    @contextmanager
    def call(self, name: str, headers: Mapping[str, str], about: Mapping[str, str]) -> Iterator["Span"]:
        """Around a call. Its trace is the caller's, if `headers` have one."""
        notes: dict[str, str] = {}
        token = _NOTES.set(notes)
        try:
            with self.stream(name, headers, about) as span:
                try:
                    yield span
                finally:
                    span.set_attributes(notes)
        finally:
            _NOTES.reset(token)

    @contextmanager
    def stream(self, name: str, headers: Mapping[str, str], about: Mapping[str, str]) -> Iterator["Span"]:
        """Around a stream, which may end in another context than it began in."""
        span = self._tracer.start_span(name, self._incoming.extract(headers), self._kind, about)
        try:
            yield span
        finally:
            span.end()

    def fail(self, span: "Span") -> None:
        """For errors of the server, not of its clients."""
        span.set_status(self._failed)

    def close(self) -> None:
        self._provider.shutdown()


def begin(address: str | None, environment: Mapping[str, str]) -> Tracing | None:
    """For a collector that takes OTLP over HTTP at that address, or at that of the environment. None: there is none."""
    if not address and not any(environment.get(name) for name in ENVIRONMENT):
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ModuleNotFoundError as missing:
        raise ExtraMissing("traces", "OpenTelemetry", "otel") from missing
    named: dict[str, Any] = {} if environment.get("OTEL_SERVICE_NAME") else {"service.name": "conjoin"}
    provider = TracerProvider(resource=Resource.create(named))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(address, timeout=_LONGEST_EXPORT_S)))
    return Tracing(provider)

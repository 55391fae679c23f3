"""Traces: a span for each call of gRPC and REST, for a collector of OpenTelemetry. Off unless one is named.

A span has the name of the call, the tenant, what the message or the process is called, and what came of it; never a
variable. While it is off, nothing of OpenTelemetry is imported.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, TypeVar

from conjoin import __version__
from conjoin.errors import ExtraMissing, SettingsError
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.calls import NewInstance
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.shown_urls import kind_of, shown_url

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span

ENVIRONMENT = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
"""OpenTelemetry's own variables, which its exporter reads by itself."""
_LONGEST_EXPORT_S = 5
_NOTES: ContextVar[dict[str, str] | None] = ContextVar("notes", default=None)
_A = TypeVar("_A")


def noted(about: object, answer: _A) -> _A:
    """The answer itself; the span of the call, if there is one, says what it was about: a message, or an instance."""
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
        above = self._incoming.extract(headers)
        span = self._tracer.start_span(name, above, self._kind, about)
        notes: dict[str, str] = {}
        token = _NOTES.set(notes)
        try:
            yield span
        finally:
            _NOTES.reset(token)
            span.set_attributes(notes)
            span.end()

    @contextmanager
    def stream(self, name: str, headers: Mapping[str, str], about: Mapping[str, str]) -> Iterator["Span"]:
        """Around a stream, which may end in another context than it began in."""
        span = self._tracer.start_span(name, self._incoming.extract(headers), self._kind, about)
        try:
            yield span
        finally:
            span.end()

    def fail(self, span: "Span") -> None:
        """It was the server's fault."""
        span.set_status(self._failed)

    def close(self) -> None:
        self._provider.shutdown()


def address_in(section: Mapping[str, Any]) -> str | None:
    """`traces` of the section `[server]`."""
    known = ("traces", "hosts", "log_level", "log_format")
    problems = [f"unknown key {name!r}; there is {', '.join(known)}" for name in section if name not in known]
    address = section.get("traces")
    if address is not None and not (isinstance(address, str) and address.startswith(("http://", "https://"))):
        shown = repr(shown_url(address)) if isinstance(address, str) else kind_of(address)
        problems.append(f"traces = {shown}: is not an address such as http://127.0.0.1:4318/v1/traces")
    if problems:
        raise SettingsError(problems)
    return address


def begin(address: str | None, environment: Mapping[str, str]) -> Tracing | None:
    """To a collector that takes OTLP over HTTP there, or where the environment says; None: nobody wants any."""
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

"""The gRPC server: limits, admission and memory of each call, and the statuses of refusals and errors.

Calls of Zeebe that Conjoin does not have are refused by name. No exception reaches a client as it is.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import grpc
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from conjoin.errors import ConjoinError, InputError
from conjoin.gateway.grpc.handlers import STREAMING, UNARY, Unary
from conjoin.gateway.grpc.reading import CommonFields, Reader, check_of
from conjoin.gateway.grpc.wire import METHODS, SERVICE, WIRE
from conjoin.gateway.guard import Admitted, Guard, allow_all
from conjoin.gateway.memory_budget import Reservation
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.open_files import shares
from conjoin.gateway.service import Service
from conjoin.gateway.statuses import MISTAKE, rejection, status_of
from conjoin.logs import REQUEST_ID_HEADER, answering, id_of, note_request, request_id
from conjoin.runtime.client_api.answers import Refusal

LARGEST_REQUEST = 4 * 1024 * 1024
LONGEST_TEXT = 6_000
_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_REQUEST),
    ("grpc.max_send_message_length", -1),
    # Clients that connect and then call nothing, and clients that are gone.
    ("grpc.max_connection_idle_ms", 300_000),
    ("grpc.keepalive_time_ms", 60_000),
    ("grpc.keepalive_timeout_ms", 20_000),
    # Clients that connect and send nothing at all.
    ("grpc.server_handshake_timeout_ms", 10_000),
    # Two servers on one port would share its requests by chance.
    ("grpc.so_reuseport", 0),
    # Workers keep idle connections alive, more often than gRPC allows by itself.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)
_METADATA = REQUEST_ID_HEADER.lower()
_log = logging.getLogger(__name__)
_LIBRARY_LOG = logging.getLogger("grpc._cython.cygrpc")


def is_about_us(record: logging.LogRecord) -> bool:
    """gRPC logs an error with its trace when a connection breaks just while an answer goes out: not so, then, but for
    who looks at everything."""
    error = record.exc_info[1] if record.exc_info else None
    return type(error).__name__ != "ExecuteBatchError" or logging.getLogger().isEnabledFor(logging.DEBUG)


class GrpcServer:
    def __init__(
        self, service: Service, metrics: Metrics, guard: Guard = allow_all, interceptors: Sequence[Any] = ()
    ) -> None:
        limits = service.limits
        most = limits.in_flight + limits.waiting
        options = (*_OPTIONS, ("grpc.max_allowed_incoming_connections", shares().grpc))
        self._server = grpc.aio.server(None, None, interceptors, options, most)
        self._health = health.aio.HealthServicer()
        intent, publish = UNARY["PublishMessage"]
        unary = UNARY | {"PublishMessage": (intent, _counted(metrics, publish))}
        methods = {method.name: _method(service, guard, method, unary) for method in METHODS}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    async def start(self, host: str, port: int, credentials: Any = None) -> int:
        """Returns the port: a free one for 0. `credentials`: of TLS."""
        address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        try:
            if credentials is None:
                bound: int = self._server.add_insecure_port(address)
            else:
                bound = self._server.add_secure_port(address, credentials)
        except RuntimeError:
            raise InputError([f"{host}:{port} cannot be listened on: is another server there?"]) from None
        # Added once, however many servers are started.
        _LIBRARY_LOG.addFilter(is_about_us)
        await self._server.start()
        await self.report(True)
        return bound

    async def report(self, is_serving: bool) -> None:
        """Sets the answer of gRPC's health service."""
        status = health_pb2.HealthCheckResponse
        for name in ("", SERVICE):
            await self._health.set(name, status.SERVING if is_serving else status.NOT_SERVING)

    async def report_shutdown(self) -> None:
        await self._health.enter_graceful_shutdown()

    async def stop(self, grace_s: float) -> None:
        """No new calls; open ones may take so long."""
        await self._server.stop(grace_s)


def _with_id(handler: Any, is_streaming: bool) -> Any:
    """Log records and the trailing metadata have the id of the call."""

    def id_in(context: Any) -> str:
        given = (value for key, value in context.invocation_metadata() or () if key == _METADATA)
        id_ = id_of(next((value for value in given if isinstance(value, str)), None))
        context.set_trailing_metadata(((_METADATA, id_),))
        return id_

    async def unary(request: Any, context: Any) -> Any:
        with answering(id_in(context)):
            return await handler(request, context)

    async def streaming(request: Any, context: Any) -> AsyncIterator[Any]:
        id_ = id_in(context)
        # A generator may be closed in another context, where nothing could be reset.
        note_request(id_)
        async for answered in handler(request, context):
            yield answered

    return streaming if is_streaming else unary


def _method(service: Service, guard: Guard, method: Any, unary: Mapping[str, tuple[str, Unary]]) -> Any:
    request, response = WIRE[method.input_type.name], WIRE[method.output_type.name]
    how = {"request_deserializer": _read_by(request), "response_serializer": response.SerializeToString}
    if method.name in STREAMING:
        return grpc.unary_stream_rpc_method_handler(_with_id(_streaming(service, guard, method), True), **how)
    if method.name in unary:
        return grpc.unary_unary_rpc_method_handler(
            _with_id(_unary(service, guard, method, unary[method.name]), False), **how
        )
    return grpc.unary_unary_rpc_method_handler(_with_id(_unimplemented(method.name), False), **how)


def _read_by(request: Any) -> Callable[[bytes], Any]:
    """Bytes that cannot be read are refused by the handler; an exception here would be an internal error."""

    def read(data: bytes) -> Any:
        try:
            return request.FromString(data)
        except DecodeError:
            return Refusal("INVALID_ARGUMENT", f"the bytes are no {request.DESCRIPTOR.name}")

    return read


def _counted(metrics: Metrics, publish: Unary) -> Unary:
    async def counted(service: Service, request: Any, common: CommonFields) -> Any:
        with metrics.publishing("grpc") as outcome:
            return outcome.noted(await publish(service, request, common))

    return counted


def _unary(
    service: Service, guard: Guard, method: Any, answered_by: tuple[str, Unary]
) -> Callable[[Any, Any], Awaitable[Any]]:
    name, (intent, handler) = method.name, answered_by
    reader, unsupported = Reader(method.input_type), check_of(method.input_type)

    async def handled(permitted: Service, request: Any) -> Any:
        refused = unsupported(request)
        if refused is not None:
            return refused
        with Reservation(service.memory) as held:
            common = held.take(request.ByteSize() + reader.cost(request)) or reader.read(request)
            return common if isinstance(common, Refusal) else await handler(permitted, request, common)

    async def answer(request: Any, context: Any) -> Any:
        if isinstance(request, Refusal):
            await _abort(context, name, intent, request)
        admitted: Admitted | Refusal | None = None
        answered: Any
        try:
            admitted = await _admitted(service, guard, name, context)
            answered = admitted if isinstance(admitted, Refusal) else await handled(admitted.service, request)
        except Exception as error:  # noqa: BLE001 - the border of the process: a client gets a status
            answered = error
        if guard is not allow_all and isinstance(admitted, Admitted):
            failed = isinstance(answered, (Refusal, Exception))
            outcome = str(getattr(answered, "code", "failed")) if failed else "done"
            guard.note(admitted.who, name, _audited(request), outcome)
        if isinstance(answered, (Refusal, Exception)):
            await _abort(context, name, intent, answered)
        return answered

    return answer


def _streaming(service: Service, guard: Guard, method: Any) -> Callable[[Any, Any], AsyncIterator[Any]]:
    name, unsupported = method.name, check_of(method.input_type)
    intent, handler = STREAMING[name]

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        if isinstance(request, Refusal):
            await _abort(context, name, intent, request)
        refused: Refusal | Exception | None = None
        try:
            admitted = await _admitted(service, guard, name, context)
            with Reservation(service.memory) as held:
                # A request for jobs is kept for as long as it waits.
                too_much = held.take(request.ByteSize())
                refused = admitted if isinstance(admitted, Refusal) else too_much or unsupported(request)
                if isinstance(admitted, Admitted) and refused is None:
                    async for answered in handler(admitted.service, request):
                        if isinstance(answered, Refusal):
                            refused = answered
                        else:
                            yield answered
        except Exception as error:  # noqa: BLE001 - the border of the process: a client gets a status
            refused = error
        if refused is not None:
            await _abort(context, name, intent, refused)

    return answer


def _unimplemented(name: str) -> Callable[[Any, Any], Awaitable[Any]]:
    async def answer(request: Any, context: Any) -> Any:
        await _abort(context, name, name, Refusal("UNIMPLEMENTED", f"{name} is not implemented by Conjoin"))

    return answer


async def _admitted(service: Service, guard: Guard, name: str, context: Any) -> Admitted | Refusal:
    if guard is allow_all:
        return Admitted(service)
    headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
    return await guard.admit(name, headers, service, _address_of(context.peer()))


def _address_of(peer: str) -> str:
    """`ipv4:127.0.0.1:50000`, `ipv6:%5B::1%5D:50000`, `unix:/a/path`."""
    kind, _, rest = unquote(peer).partition(":")
    return rest.rpartition(":")[0].strip("[]") if kind in ("ipv4", "ipv6") else kind


def _audited(request: Any) -> dict[str, Any]:
    """What an operator requested, without the values of variables: keys, for instance, and the names of files."""
    given = {field.name: value for field, value in request.ListFields() if field.name != "variables"}
    plain = {name: value for name, value in given.items() if isinstance(value, (int, str))}
    return plain | {name: [it.name for it in given[name]] for name in ("resources", "processes") if name in given}


async def _abort(context: Any, name: str, intent: str, problem: Refusal | Exception) -> None:
    if isinstance(problem, Refusal):
        status, text = status_of(problem), rejection(intent, problem)
    elif isinstance(problem, ConjoinError):
        status, text = status_of(problem), str(problem)
    else:
        _log.error("%s failed", name, exc_info=problem)
        status = MISTAKE
        text = f"{name}: Internal error (request id {request_id()}): the log of the server says what happened"
    await context.abort(grpc.StatusCode[status.grpc], _fitting(text))


def _fitting(text: str) -> str:
    """It is sent in a header, of which clients take 8 KB; a longer text would look like another error there."""
    if len(text) <= LONGEST_TEXT and text.isascii():
        return text
    cut = text[:LONGEST_TEXT]
    while len(quote(cut)) > LONGEST_TEXT:
        cut = cut[: len(cut) * 3 // 4]
    return text if cut == text else f"{cut} ..."

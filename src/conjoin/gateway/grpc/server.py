"""The gRPC server: which function answers which call, and what becomes of refusals and errors.

What Zeebe has and Conjoin has not is refused by name. Nothing that is raised here reaches a client as it is.
"""

import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import quote

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from conjoin.errors import ConjoinError, InputError
from conjoin.gateway.grpc import handlers, job_handlers
from conjoin.gateway.grpc.reading import Reader, Said
from conjoin.gateway.grpc.wire import METHODS, SERVICE, WIRE
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.metrics import Metrics
from conjoin.gateway.service import Service
from conjoin.gateway.statuses import MISTAKE, rejection, status_of
from conjoin.runtime.answers import Refusal

LARGEST_REQUEST = 4 * 1024 * 1024
LONGEST_TEXT = 6_000
_OPTIONS = (
    ("grpc.max_receive_message_length", LARGEST_REQUEST),
    ("grpc.max_send_message_length", -1),
    # Two servers on one port would share its requests by chance.
    ("grpc.so_reuseport", 0),
    # Workers keep idle connections alive, more often than gRPC allows by itself.
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)
_log = logging.getLogger(__name__)

Unary = Callable[[Service, Any, Said], Awaitable[Any]]
Streaming = Callable[[Service, Any], AsyncIterator[Any]]
UNARY: dict[str, tuple[str, Unary]] = {
    "PublishMessage": ("PUBLISH", handlers.publish_message),
    "BroadcastSignal": ("BROADCAST", handlers.broadcast_signal),
    "DeployResource": ("CREATE", handlers.deploy_resource),
    "DeployProcess": ("CREATE", handlers.deploy_process),
    "CreateProcessInstance": ("CREATE", handlers.create_instance),
    "CreateProcessInstanceWithResult": ("CREATE_WITH_AWAITING_RESULT", handlers.create_with_result),
    "CancelProcessInstance": ("CANCEL", handlers.cancel_instance),
    "SetVariables": ("UPDATE", handlers.set_variables),
    "ResolveIncident": ("RESOLVE", handlers.resolve_incident),
    "Topology": ("TOPOLOGY", handlers.topology),
    "CompleteJob": ("COMPLETE", job_handlers.complete_job),
    "FailJob": ("FAIL", job_handlers.fail_job),
    "ThrowError": ("THROW_ERROR", job_handlers.throw_error),
    "UpdateJobRetries": ("UPDATE_RETRIES", job_handlers.update_retries),
    "UpdateJobTimeout": ("UPDATE_TIMEOUT", job_handlers.update_timeout),
}
"""By name: what Zeebe calls the command, and who answers it."""
STREAMING: dict[str, tuple[str, Streaming]] = {
    "ActivateJobs": ("ACTIVATE", job_handlers.activate_jobs),
    "StreamActivatedJobs": ("ACTIVATE", job_handlers.stream_jobs),
}


class GrpcServer:
    def __init__(self, service: Service, metrics: Metrics, guard: Guard = allow_all) -> None:
        limits = service.limits
        most = limits.in_flight + limits.waiting
        self._server = grpc.aio.server(options=_OPTIONS, maximum_concurrent_rpcs=most)
        self._health = health.aio.HealthServicer()
        unary = UNARY | {"PublishMessage": ("PUBLISH", _counted(metrics, handlers.publish_message))}
        methods = {method.name: _method(service, guard, method, unary) for method in METHODS}
        self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(SERVICE, methods),))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)

    async def start(self, host: str, port: int) -> int:
        """Answers with the port, which is a free one if 0 was asked for."""
        try:
            bound: int = self._server.add_insecure_port(f"[{host}]:{port}" if ":" in host else f"{host}:{port}")
        except RuntimeError:
            raise InputError([f"{host}:{port} cannot be listened on: is another server there?"]) from None
        await self._server.start()
        for name in ("", SERVICE):
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)
        return bound

    async def say_not_serving(self) -> None:
        await self._health.enter_graceful_shutdown()

    async def stop(self, grace_s: float) -> None:
        """No new calls; those that are open have so long."""
        await self._server.stop(grace_s)


def _method(service: Service, guard: Guard, method: Any, unary: Mapping[str, tuple[str, Unary]]) -> Any:
    request, response = WIRE[method.input_type.name], WIRE[method.output_type.name]
    how = {"request_deserializer": request.FromString, "response_serializer": response.SerializeToString}
    if method.name in STREAMING:
        return grpc.unary_stream_rpc_method_handler(_streaming(service, guard, method.name), **how)
    if method.name in unary:
        return grpc.unary_unary_rpc_method_handler(_unary(service, guard, method, unary[method.name]), **how)
    return grpc.unary_unary_rpc_method_handler(_unimplemented(method.name), **how)


def _counted(metrics: Metrics, publish: Unary) -> Unary:
    async def counted(service: Service, asked: Any, said: Said) -> Any:
        with metrics.publishing("grpc") as outcome:
            return outcome.noted(await publish(service, asked, said))

    return counted


def _unary(
    service: Service, guard: Guard, method: Any, answered_by: tuple[str, Unary]
) -> Callable[[Any, Any], Awaitable[Any]]:
    name, (intent, handler) = method.name, answered_by
    reader = Reader(method.input_type)

    async def answer(request: Any, context: Any) -> Any:
        refused = _kept_out(guard, name, context)
        try:
            said = refused or reader.read(request)
            answered = said if isinstance(said, Refusal) else await handler(service, request, said)
        except Exception as error:  # noqa: BLE001 - the border of the process: a client gets a status
            answered = error
        if isinstance(answered, (Refusal, Exception)):
            await _abort(context, name, intent, answered)
        return answered

    return answer


def _streaming(service: Service, guard: Guard, name: str) -> Callable[[Any, Any], AsyncIterator[Any]]:
    intent, handler = STREAMING[name]

    async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
        refused: Refusal | Exception | None = _kept_out(guard, name, context)
        if refused is None:
            try:
                async for answered in handler(service, request):
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


def _kept_out(guard: Guard, name: str, context: Any) -> Refusal | None:
    if guard is allow_all:
        return None
    headers = {key: value for key, value in context.invocation_metadata() if isinstance(value, str)}
    return guard(name, headers)


async def _abort(context: Any, name: str, intent: str, problem: Refusal | Exception) -> None:
    if isinstance(problem, Refusal):
        status, text = status_of(problem), rejection(intent, problem)
    elif isinstance(problem, ConjoinError):
        status, text = status_of(problem), str(problem)
    else:
        _log.error("%s failed", name, exc_info=problem)
        status, text = MISTAKE, f"{name} failed by a mistake of ours: the log of the server has it"
    await context.abort(grpc.StatusCode[status.grpc], _fitting(text))


def _fitting(text: str) -> str:
    """It travels in a header, of which clients take 8 KB; what is longer reads like an error of another kind there."""
    if len(text) <= LONGEST_TEXT and text.isascii():
        return text
    cut = text[:LONGEST_TEXT]
    while len(quote(cut)) > LONGEST_TEXT:
        cut = cut[: len(cut) * 3 // 4]
    return text if cut == text else f"{cut} ..."

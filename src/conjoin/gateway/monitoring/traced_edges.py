"""Spans of calls: an interceptor for gRPC, a middleware for REST. Health and metrics are not traced."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import grpc
from starlette.applications import Starlette
from starlette.routing import Match, Route
from starlette.types import Message, Receive, Scope, Send

from conjoin.gateway.grpc.wire import SERVICE
from conjoin.gateway.monitoring.tracing import Tracing

_SERVER_ERRORS = ("UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS")
_UNTRACED = ("/health/", "/metrics")
_CODES = {code.value[0]: code for code in grpc.StatusCode}


class GrpcSpans(grpc.aio.ServerInterceptor):  # type: ignore[misc]
    def __init__(self, tracing: Tracing) -> None:
        self._tracing = tracing

    async def intercept_service(self, continuation: Callable[[Any], Awaitable[Any]], details: Any) -> Any:
        handler = await continuation(details)
        service, _, method = details.method.removeprefix("/").partition("/")
        if handler is None or service != SERVICE:
            return handler
        how = {
            "request_deserializer": handler.request_deserializer,
            "response_serializer": handler.response_serializer,
        }
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(self._streaming(method, handler.unary_stream), **how)
        return grpc.unary_unary_rpc_method_handler(self._unary(method, handler.unary_unary), **how)

    def _unary(self, method: str, inner: Any) -> Callable[[Any, Any], Awaitable[Any]]:
        async def answer(request: Any, context: Any) -> Any:
            with self._tracing.call(f"{SERVICE}/{method}", _headers(context), _about(method)) as span:
                try:
                    return await inner(request, context)
                finally:
                    self._end(span, context)

        return answer

    def _streaming(self, method: str, inner: Any) -> Callable[[Any, Any], AsyncIterator[Any]]:
        async def answer(request: Any, context: Any) -> AsyncIterator[Any]:
            with self._tracing.stream(f"{SERVICE}/{method}", _headers(context), _about(method)) as span:
                try:
                    async for one in inner(request, context):
                        yield one
                finally:
                    self._end(span, context)

        return answer

    def _end(self, span: Any, context: Any) -> None:
        given = context.code()
        code = _CODES[given or 0] if not isinstance(given, grpc.StatusCode) else given
        span.set_attribute("rpc.grpc.status_code", code.value[0])
        if code.name in _SERVER_ERRORS:
            self._tracing.fail(span)


def _headers(context: Any) -> dict[str, str]:
    return {key: value for key, value in context.invocation_metadata() or () if isinstance(value, str)}


def _about(method: str) -> dict[str, str]:
    return {"rpc.system": "grpc", "rpc.service": SERVICE, "rpc.method": method}


class RestSpans:
    """Spans are named by the route, not by the path with its keys."""

    def __init__(self, app: Starlette, tracing: Tracing) -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"].startswith(_UNTRACED):
            await self._app(scope, receive, send)
            return
        route = self._route(scope)
        about = {"http.request.method": scope["method"], "http.route": route}
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with self._tracing.call(f"{scope['method']} {route}".rstrip(), headers, about) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    span.set_attribute("http.response.status_code", message["status"])
                    if message["status"] >= 500:
                        self._tracing.fail(span)
                await send(message)

            await self._app(scope, receive, noting)

    def _route(self, scope: Scope) -> str:
        """Its pattern; empty if no route matches."""
        found = (it.path for it in self._app.routes if isinstance(it, Route) and it.matches(scope)[0] is Match.FULL)
        return next(found, "")

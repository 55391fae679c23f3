"""The REST application: every table of endpoints as routes, problems for all errors, and a page to try it.

It owns nothing but the metrics: the service is closed by the code that made it.
"""

from collections.abc import Callable, Sequence
from typing import Any

from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from conjoin.errors import ConjoinError
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.http.context import Gateway
from conjoin.gateway.http.edge import Edge, Hosts
from conjoin.gateway.http.problems import HttpProblem, on_error, on_http, on_mistake, on_problem
from conjoin.gateway.monitoring.health import Health
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.rest import conjoin_v1, fleans, health, v2
from conjoin.gateway.rest.endpoint import JSON, Endpoint
from conjoin.gateway.rest.openapi.document import PAGE, PAGE_POLICY, STATIC, document
from conjoin.gateway.rest.v2 import missing
from conjoin.gateway.service import Service
from conjoin.runtime.codec.json_text import json_bytes

ENDPOINTS: tuple[Endpoint, ...] = (*v2.ENDPOINTS, *conjoin_v1.ENDPOINTS, *fleans.ENDPOINTS, *health.FIGURES)
OPEN_ENDPOINTS: tuple[Endpoint, ...] = health.ENDPOINTS
"""These need no permission."""
Pages = Callable[[Gateway], Sequence[BaseRoute]]
"""What else is served at the same address: the console."""


def make_app(
    service: Service,
    guard: Guard = allow_all,
    is_ready: Callable[[], bool] = lambda: True,
    metrics: Metrics | None = None,
    pages: Pages | None = None,
    hosts: Hosts | None = None,
    health_of: Health | None = None,
) -> Starlette:
    """`is_ready` is false once the process is about to stop; `metrics` and `health_of` may be shared with gRPC."""
    metrics = metrics or Metrics(service.broker, service.inbox)
    service.listeners.append(metrics.committed)
    gateway = Gateway(service, guard, metrics, is_ready, health_of or Health(service.broker, is_ready))
    routes: list[BaseRoute] = _in_order([endpoint.route(gateway) for endpoint in ENDPOINTS])
    routes += [endpoint.route(gateway._replace(guard=allow_all, closed_by=guard)) for endpoint in OPEN_ENDPOINTS]
    routes += [*_documents(), *missing.routes(), *(pages(gateway) if pages else ())]
    handlers: dict[Any, Any] = {HttpProblem: on_problem, ConjoinError: on_error, HTTPException: on_http}
    app = _App(routes=routes, exception_handlers={**handlers, Exception: on_mistake})
    app.hosts = hosts or Hosts()
    return app


class _App(Starlette):
    hosts: Hosts

    def build_middleware_stack(self) -> ASGIApp:
        return Edge(super().build_middleware_stack(), self.hosts)


class _NoOtherMethod(HTTPEndpoint):
    """Of a path whose methods have routes of their own: answers 405."""


def _in_order(routes: Sequence[Route]) -> list[BaseRoute]:
    """A plain path before those whose parameter would take its last word for a key: `GET /v2/incidents/search` is then
    answered that there is only POST, and not that `search` is no key."""
    plain = [route for route in routes if not route.param_convertors]
    others = [route for route in routes if route.param_convertors]
    hidden = {it.path for it in plain if any(other.path_regex.match(it.path) for other in others)}
    return [*plain, *(Route(path, _NoOtherMethod) for path in hidden), *others]


def _documents() -> list[BaseRoute]:
    content = json_bytes(document((*ENDPOINTS, *OPEN_ENDPOINTS)))

    async def openapi(request: Request) -> Response:
        return Response(content, media_type=JSON)

    async def docs(request: Request) -> Response:
        return HTMLResponse(PAGE, headers={"Content-Security-Policy": PAGE_POLICY})

    static = Mount("/docs/static", StaticFiles(directory=STATIC))
    return [Route("/openapi.json", openapi), Route("/docs", docs), static]

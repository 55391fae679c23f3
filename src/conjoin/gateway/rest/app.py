"""The REST application: every table of endpoints as routes, problems for everything that goes wrong, and a page to try.

It owns nothing but the metrics: the service and what is behind it belong to whoever makes it.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from conjoin.errors import ConjoinError
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.http.context import Gateway
from conjoin.gateway.http.edge import Edge
from conjoin.gateway.http.header_limit import HeaderLimit
from conjoin.gateway.http.hosts import Hosts
from conjoin.gateway.http.methods import in_order
from conjoin.gateway.http.problems import HttpProblem, on_error, on_http, on_mistake, on_problem
from conjoin.gateway.monitoring.health import Health
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.monitoring.request_ids import RequestIds
from conjoin.gateway.rest import conjoin_v1 as own
from conjoin.gateway.rest import fleans, health, v2
from conjoin.gateway.rest.endpoint import JSON, Endpoint
from conjoin.gateway.rest.openapi.document import document
from conjoin.gateway.rest.openapi.page import PAGE, POLICY, STATIC
from conjoin.gateway.rest.v2 import missing
from conjoin.gateway.service import Service
from conjoin.runtime.codec.json_text import json_bytes

ENDPOINTS: tuple[Endpoint, ...] = (*v2.ENDPOINTS, *own.ENDPOINTS, *fleans.ENDPOINTS, *health.FIGURES)
OPEN_ENDPOINTS: tuple[Endpoint, ...] = health.ENDPOINTS
"""Nobody needs a permission for these."""
Pages = Callable[[Gateway], Sequence[BaseRoute]]
"""What else is served at the same address: the console."""


def _always() -> bool:
    return True


def make_app(
    service: Service,
    guard: Guard = allow_all,
    is_ready: Callable[[], bool] = _always,
    metrics: Metrics | None = None,
    pages: Pages | None = None,
    hosts: Hosts | None = None,
    health_of: Health | None = None,
) -> Starlette:
    """`is_ready` says no when the process is about to stop; `metrics` and `health_of` may be another edge's too."""
    metrics = metrics or Metrics(service.broker, service.inbox)
    service.listeners.append(metrics.committed)
    gateway = Gateway(service, guard, metrics, is_ready, health_of or Health(service.broker, is_ready))
    routes: list[BaseRoute] = in_order([endpoint.route(gateway) for endpoint in ENDPOINTS])
    routes += [endpoint.route(gateway._replace(guard=allow_all, closed_by=guard)) for endpoint in OPEN_ENDPOINTS]
    routes += [*_documents(), *missing.routes(), *(pages(gateway) if pages else ())]
    handlers: dict[Any, Any] = {HttpProblem: on_problem, ConjoinError: on_error, HTTPException: on_http}
    app = _App(routes=routes, exception_handlers={**handlers, Exception: on_mistake})
    app.hosts = hosts or Hosts()
    app.add_middleware(HeaderLimit)
    return app


class _App(Starlette):
    """With the edge around everything, also around the answer to a mistake of ours."""

    hosts: Hosts

    def build_middleware_stack(self) -> ASGIApp:
        return RequestIds(Edge(super().build_middleware_stack(), self.hosts))


def _documents() -> list[BaseRoute]:
    told = json_bytes(document((*ENDPOINTS, *OPEN_ENDPOINTS)))

    async def openapi(request: Request) -> Response:
        return Response(told, media_type=JSON)

    page = partial(HTMLResponse, PAGE, headers={"Content-Security-Policy": POLICY})

    async def docs(request: Request) -> Response:
        return page()

    static = Mount("/docs/static", StaticFiles(directory=STATIC))
    return [Route("/openapi.json", openapi), Route("/docs", docs), static]

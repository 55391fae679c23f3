"""What endpoints and pages work with, and the client of a request."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request

from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.monitoring.health import Health
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.service import Service

USER = "conjoin.user"
"""In the scope of a request: the name of an authenticated caller."""


class Gateway(NamedTuple):
    service: Service
    guard: Guard
    metrics: Metrics
    is_ready: Callable[[], bool]
    health: Health
    closed_by: Guard = allow_all
    """The guard of the server, by which an endpoint without a guard decides whether to show details."""


def address_of(request: Request) -> str:
    return request.client.host if request.client is not None else ""

"""What endpoints and pages work with, and who sends a request."""

from collections.abc import Callable
from typing import NamedTuple

from starlette.requests import Request

from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.monitoring.health import Health
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.service import Service
from conjoin.runtime.inbox.inbox import Inbox

USER = "conjoin.user"
"""Where the scope of a request has who it is, if anybody was asked."""


class Gateway(NamedTuple):
    """What endpoints work with."""

    service: Service
    guard: Guard
    metrics: Metrics
    is_ready: Callable[[], bool]
    health: Health
    closed_by: Guard = allow_all
    """Whom an endpoint for everybody asks before it tells more than everybody may know."""

    @property
    def inbox(self) -> Inbox | None:
        return self.service.inbox


def address_of(request: Request) -> str:
    """Where it came from."""
    return request.client.host if request.client is not None else ""

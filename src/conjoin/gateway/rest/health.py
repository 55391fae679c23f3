"""Health and metrics: for whoever keeps the process running. Health is told to anybody."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from conjoin.errors import ConjoinError
from conjoin.gateway.rest.endpoint import Call, Endpoint, answer
from conjoin.gateway.rest.schemas import one_of_words, whole


async def live(call: Call) -> Response:
    """The event loop goes round."""
    return answer({"status": "UP"})


async def ready(call: Call) -> Response:
    """The store answers, and nobody has told us to stop."""
    try:
        is_ready = call.gateway.is_ready() and await call.service.look(call.service.broker.store.catalog.version) >= 0
    except (ConjoinError, RuntimeError):
        is_ready = False
    return answer({"status": "UP" if is_ready else "DOWN"}, 200 if is_ready else 503)


async def metrics(call: Call) -> Response:
    text = await call.service.look(call.gateway.metrics.text)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


_HEALTH = whole({"status": one_of_words(["UP", "DOWN"])})

ENDPOINTS = (
    Endpoint("GET", "/health/live", "isLive", "Is the process alive?", live, answer=_HEALTH),
    Endpoint("GET", "/health/ready", "isReady", "Can it serve?", ready, answer=_HEALTH, also={503: _HEALTH}),
)
FIGURES = (
    Endpoint(
        *("GET", "/metrics", "getMetrics", "Metrics for Prometheus", metrics),
        answer={"type": "string"},
        answers_as="text/plain",
        refuses=(401, 403),
    ),
)
"""They are of all tenants together, so a server that asks who is there asks here, too."""

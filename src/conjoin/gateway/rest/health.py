"""Health and metrics: for whoever keeps the process running. They ask for no permission."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from conjoin.errors import ConjoinError
from conjoin.gateway.rest.endpoint import ANY_OBJECT, Call, Endpoint, answer


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


ENDPOINTS = (
    Endpoint("GET", "/health/live", "isLive", "Is the process alive?", live, answer=ANY_OBJECT),
    Endpoint("GET", "/health/ready", "isReady", "Can it serve?", ready, answer=ANY_OBJECT),
    Endpoint(
        *("GET", "/metrics", "getMetrics", "Metrics for Prometheus", metrics),
        answer={"type": "string"},
        answers_as="text/plain",
    ),
)

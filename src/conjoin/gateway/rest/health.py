"""Health and metrics, for probes and operators. Health needs no permission, its details do."""

from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from conjoin.gateway.guard import Admitted
from conjoin.gateway.http.context import address_of
from conjoin.gateway.http.edge import FOREIGN_HOST
from conjoin.gateway.http.schemas import COUNT, TEXT, one_of_words, whole
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer


async def live(call: RestCall) -> Response:
    """The event loop runs."""
    return answer({"status": "UP"})


async def ready(call: RestCall) -> Response:
    """Can each shard commit, is each sweep in time? To restart a process that hangs, probe `/health/live`."""
    report = await call.gateway.health.report()
    if not await _may_see_details(call):
        problems = ["use credentials that may read /metrics, or see the log"] if report["problems"] else []
        jobs = [{**job, "doing": "", "error": ""} for job in report["jobs"]]
        report = {**report, "problems": problems, "jobs": jobs}
    return answer(report, 200 if report["status"] == "UP" else 503)


async def _may_see_details(call: RestCall) -> bool:
    """With permission to read the metrics. A request by a name that is not ours may be a page of another site."""
    if call.request.scope.get(FOREIGN_HOST):
        return False
    who = (call.request.headers, call.service, address_of(call.request))
    return isinstance(await call.gateway.closed_by.admit("GET /metrics", *who), Admitted)


async def metrics(call: RestCall) -> Response:
    text = await call.service.look_up(call.gateway.metrics.text)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


_STATUS = one_of_words(["UP", "DOWN"])
_SECONDS = {"type": "number"}
_JOB = whole(
    {
        **{"name": TEXT, "state": one_of_words(["ok", "failing", "down"]), "doing": TEXT, "failures": COUNT},
        **{"error": TEXT, "last_success_age_s": _SECONDS, "late_s": _SECONDS},
    }
)
_READY = whole(
    {
        "status": _STATUS,
        "problems": {"type": "array", "items": TEXT},
        "jobs": {"type": "array", "items": _JOB},
        "set_aside": COUNT,
    }
)

ENDPOINTS = (
    Endpoint("GET", "/health/live", "isLive", "Is the process alive?", live, answer=whole({"status": _STATUS})),
    Endpoint("GET", "/health/ready", "isReady", "Can it serve?", ready, answer=_READY, also={503: _READY}),
)
FIGURES = (
    Endpoint(
        *("GET", "/metrics", "getMetrics", "Metrics for Prometheus", metrics),
        answer={"type": "string"},
        answers_as="text/plain",
        refuses=(401, 403),
    ),
)
"""They are of all tenants together, so they need a permission."""

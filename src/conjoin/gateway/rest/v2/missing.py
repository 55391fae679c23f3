"""Calls of Camunda's interface that are not implemented: answered by name (501), so that nobody looks for a typo."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from conjoin.gateway.http.problems import NOT_HERE, unimplemented

_SUBJECTS = (
    *("agent-instances", "audit-logs", "authentication", "authorizations", "batch-operation-items", "batch-operations"),
    *("clock", "cluster-variables", "conditionals", "decision-definitions", "decision-instances"),
    *("decision-requirements", "documents", "expression", "forms", "global-task-listeners", "groups", "mapping-rules"),
    *("resources", "roles", "secrets", "setup", "system", "tenants", "users"),
)
"""Nothing of these is here."""
_CALLS = (
    "POST /element-instances/ad-hoc-activities/{key}/activation",
    "POST /incidents/statistics/{which}",
    "GET /jobs/statistics/{which}",
    "POST /jobs/statistics/{which}",
    "GET /process-definitions/{key}/form",
    "POST /process-definitions/statistics/{which}",
    "POST /process-definitions/{key}/statistics/{which}",
    "POST /process-instances/cancellation",
    "POST /process-instances/deletion",
    "POST /process-instances/incident-resolution",
    "POST /process-instances/migration",
    "POST /process-instances/modification",
    "POST /process-instances/suspension",
    "POST /process-instances/resumption",
    "GET /process-instances/{key}/call-hierarchy",
    "POST /process-instances/{key}/deletion",
    "POST /process-instances/{key}/incident-resolution",
    "POST /process-instances/{key}/migration",
    "POST /process-instances/{key}/modification",
    "POST /process-instances/{key}/resumption",
    "GET /process-instances/{key}/sequence-flows",
    "GET /process-instances/{key}/statistics/element-instances",
    "POST /process-instances/{key}/suspension",
    "PATCH /user-tasks/{key}",
    "GET /user-tasks/{key}/form",
    "POST /user-tasks/{key}/audit-logs/search",
    "POST /user-tasks/{key}/effective-variables/search",
    "POST /user-tasks/{key}/variables/search",
)
_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]


async def _missing(request: Request) -> Response:
    raise unimplemented(f"{request.method} {request.url.path}")


def routes() -> list[Route]:
    calls = [call.split() for call in _CALLS]
    return [
        *(Route(f"/v2{path}", _missing, methods=[method], name=NOT_HERE) for method, path in calls),
        *(Route(f"/v2/{subject}", _missing, methods=_METHODS, name=NOT_HERE) for subject in _SUBJECTS),
        *(Route(f"/v2/{subject}/{{rest:path}}", _missing, methods=_METHODS, name=NOT_HERE) for subject in _SUBJECTS),
    ]

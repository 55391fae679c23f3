"""Jobs: activated by workers (the request waits until there are some), completed, failed, ended with an error."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta
from starlette.responses import Response

from conjoin.gateway.http.disconnects import while_there
from conjoin.gateway.http.problems import accepted, invalid, unimplemented
from conjoin.gateway.http.reading import key_in, needed, tenant_of
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer, done
from conjoin.gateway.rest.v2.shapes import Int32, Int64, KeyText, Name, Shape, Tenant, Text, Variables
from conjoin.gateway.tenants import tenants_or_default
from conjoin.kernel.storable import LARGEST_INT32, LARGEST_INT64
from conjoin.runtime.client_api.answers import ActivatedJob
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.client_api.jobs import JobsWanted


class ActivateJobsBody(Shape):
    type: Name
    timeout: Annotated[int, Meta(ge=1, le=LARGEST_INT64)]
    max_jobs_to_activate: Annotated[int, Meta(ge=1, le=LARGEST_INT32)]
    worker: Text | None = None
    fetch_variable: list[str] | None = None
    request_timeout: Int64 | None = None
    tenant_ids: list[Tenant] | None = None
    tenant_filter: Literal["PROVIDED", "ASSIGNED"] | None = None
    with_lease: bool | None = None


class CompleteJobBody(Shape):
    variables: Variables | None = None
    result: dict[str, Any] | None = None
    lease_token: str | None = None
    business_id: str | None = None


class FailJobBody(Shape):
    retries: Int32 | None = None
    error_message: Text | None = None
    retry_back_off: Int64 | None = None
    variables: Variables | None = None
    lease_token: str | None = None


class ThrownError(Shape):
    error_code: Name
    error_message: Text | None = None
    variables: Variables | None = None
    lease_token: str | None = None


class Changeset(Shape):
    retries: Annotated[int, Meta(ge=1, le=LARGEST_INT32)] | None = None
    timeout: Annotated[int, Meta(ge=0, le=LARGEST_INT64)] | None = None


class Update(Shape):
    changeset: Changeset
    operation_reference: Int64 | None = None


async def activate(call: RestCall) -> Response:
    said: ActivateJobsBody = call.body
    if said.with_lease:
        raise unimplemented("Activating jobs withLease")
    if said.tenant_filter == "ASSIGNED":
        raise unimplemented("Activating jobs with the tenantFilter ASSIGNED")
    tenants = tenants_or_default([tenant_of(it) for it in said.tenant_ids or ()])
    which = (said.type, said.worker or "default", said.timeout, said.max_jobs_to_activate)
    wanted = JobsWanted(*which, tuple(said.fetch_variable or ()), tenants)
    work = call.service.activate_jobs(wanted, said.request_timeout or 0)
    jobs = accepted(await while_there(call.request, work), "ACTIVATE")
    return answer({"jobs": [_told(job) for job in jobs]})


def _told(job: ActivatedJob) -> dict[str, Any]:
    return {
        "jobKey": str(job.key),
        "type": job.type,
        "processInstanceKey": str(job.instance_key),
        "rootProcessInstanceKey": None,
        "processDefinitionId": job.process_id,
        "processDefinitionVersion": job.version,
        "processDefinitionKey": str(job.definition_key),
        "elementId": job.element_id,
        "elementInstanceKey": str(job.element_key),
        "customHeaders": job.headers,
        "worker": job.worker,
        "retries": job.retries,
        "deadline": job.deadline // 1_000,
        "variables": job.variables,
        "tenantId": job.tenant_id,
        "businessId": job.business_id or None,
        **{"kind": "BPMN_ELEMENT", "listenerEventType": "UNSPECIFIED", "userTask": None},
        **{"tags": [], "priority": 0, "leaseToken": None, "physicalTenantId": "default"},
    }


async def complete(call: RestCall) -> Response:
    said: CompleteJobBody = call.body
    if _says_something(said.result or {}):
        raise unimplemented("Completing a job with a result")
    if said.business_id:
        raise unimplemented("Completing a job with a businessId")
    _without_lease(said.lease_token)
    key = key_in(call.request, "jobKey")
    return done(await call.service.call(Calls.complete_job, key, said.variables or {}), "COMPLETE")


def _says_something(result: Mapping[str, Any]) -> bool:
    """A result that neither denies nor corrects nor starts anything is the same as none."""
    said = dict(result)
    corrections = said.pop("corrections", None)
    if isinstance(corrections, dict) and any(value is not None for value in corrections.values()):
        return True
    return said.pop("type", None) not in (None, "userTask") or any(said.values())


def _without_lease(token: str | None) -> None:
    """No job of ours is handed out with one."""
    if token:
        raise unimplemented("A leaseToken")


async def fail(call: RestCall) -> Response:
    said: FailJobBody = call.body
    _without_lease(said.lease_token)
    how = (said.retries or 0, said.error_message or "", said.retry_back_off or 0, said.variables)
    return done(await call.service.call(Calls.fail_job, key_in(call.request, "jobKey"), *how), "FAIL")


async def throw_error(call: RestCall) -> Response:
    said: ThrownError = call.body
    _without_lease(said.lease_token)
    how = (needed("errorCode", said.error_code), said.error_message or "", said.variables)
    return done(await call.service.call(Calls.throw_error, key_in(call.request, "jobKey"), *how), "THROW_ERROR")


async def update(call: RestCall) -> Response:
    key, said = key_in(call.request, "jobKey"), call.body.changeset
    if said.retries is None and said.timeout is None:
        raise invalid("No changeset provided: it has retries, timeout or both")
    # All or nothing: the first can be refused, the second is not, unless the job is gone and all of it with it.
    if said.timeout is not None:
        accepted(await call.service.call(Calls.update_timeout, key, said.timeout), "UPDATE_TIMEOUT")
    if said.retries is not None:
        accepted(await call.service.call(Calls.update_retries, key, said.retries), "UPDATE_RETRIES")
    return Response(status_code=204)


class JobTold(Shape):
    job_key: KeyText
    type: str
    process_instance_key: KeyText
    root_process_instance_key: KeyText | None
    process_definition_id: str
    process_definition_version: int
    process_definition_key: KeyText
    element_id: str
    element_instance_key: KeyText
    custom_headers: dict[str, str]
    worker: str
    retries: int
    deadline: int
    variables: Variables
    tenant_id: Tenant
    business_id: str | None
    kind: str
    listener_event_type: str
    user_task: None
    tags: list[str]
    priority: int
    lease_token: str | None
    physical_tenant_id: str


class Activated(Shape):
    jobs: list[JobTold]


_SOMETHING = {
    "properties": {
        "changeset": {
            "anyOf": [
                {"required": [name], "properties": {name: {"type": "integer"}}} for name in ("retries", "timeout")
            ]
        }
    }
}

ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/jobs/activation", "activateJobs", "Take jobs of a type; waits until there are some", activate),
        body=ActivateJobsBody,
        answer=Activated,
        refuses=(501, 504),
        example={"type": "ship", "timeout": 60_000, "maxJobsToActivate": 1, "requestTimeout": -1},
        links={
            name: {"jobKey": "$response.body#/jobs/0/jobKey"} for name in ("completeJob", "failJob", "throwJobError")
        },
    ),
    Endpoint(
        *("POST", "/v2/jobs/{jobKey}/completion", "completeJob", "The job is done", complete),
        body=CompleteJobBody,
        needs_body=False,
        refuses=(409, 501, 504),
        example={"variables": {"shipped": True}},
    ),
    Endpoint(
        *("POST", "/v2/jobs/{jobKey}/failure", "failJob", "The job failed; without retries it is an incident", fail),
        body=FailJobBody,
        needs_body=False,
        refuses=(409, 501, 504),
        example={"retries": 2, "errorMessage": "no stock"},
    ),
    Endpoint(
        *("POST", "/v2/jobs/{jobKey}/error", "throwJobError", "The job ends with an error of the model", throw_error),
        body=ThrownError,
        refuses=(409, 501, 504),
        example={"errorCode": "out-of-stock"},
    ),
    Endpoint(
        *("PATCH", "/v2/jobs/{jobKey}", "updateJob", "Change the retries or the timeout of a job", update),
        body=Update,
        narrower=_SOMETHING,
        refuses=(409, 504),
        example={"changeset": {"retries": 3}},
    ),
)

"""Jobs: activated by workers (a long poll), completed, failed, ended with a BPMN error; and user tasks.

User tasks of Zeebe's form are assigned to a person and completed. They are jobs that no worker gets.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta
from starlette.responses import Response

from conjoin.gateway.http.problems import accepted, invalid, not_found, unimplemented
from conjoin.gateway.http.reading import needed, tenant_of, while_there
from conjoin.gateway.http.schemas import TEXT
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, answer, command
from conjoin.gateway.rest.v2.shapes import AnswerShape, Int32, Int64, KeyText, Name, Shape, Tenant, Text, Variables
from conjoin.gateway.search.engine.engine import one
from conjoin.gateway.search.jobs import USER_TASKS
from conjoin.kernel.storable import LARGEST_INT32, LARGEST_INT64
from conjoin.runtime.client_api.answers import ActivatedJob
from conjoin.runtime.client_api.calls import Calls
from conjoin.runtime.client_api.jobs import JobsWanted, decides_something


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


class Assignment(Shape):
    assignee: Annotated[str, Meta(min_length=1, pattern=TEXT["pattern"])]
    allow_override: bool | None = None
    action: str | None = None


class CompleteUserTaskBody(Shape):
    variables: Variables | None = None
    action: str | None = None


class JobAnswer(AnswerShape):
    job_key: KeyText
    type: str
    process_instance_key: KeyText
    root_process_instance_key: KeyText | None
    process_definition_id: str
    process_definition_version: int
    process_definition_key: KeyText
    element_id: str
    element_instance_key: KeyText
    custom_headers: Mapping[str, str]
    worker: str
    retries: int
    deadline: int
    variables: Mapping[str, Any]
    tenant_id: Tenant
    business_id: str | None
    kind: str
    listener_event_type: str
    user_task: None
    tags: list[str]
    priority: int
    lease_token: str | None
    physical_tenant_id: str


class Activated(AnswerShape):
    jobs: list[JobAnswer]


async def activate(call: RestCall) -> Response:
    body: ActivateJobsBody = call.body
    if body.with_lease:
        raise unimplemented("Activating jobs withLease")
    if body.tenant_filter == "ASSIGNED":
        raise unimplemented("Activating jobs with the tenantFilter ASSIGNED")
    tenants = tuple(tenant_of(it) for it in body.tenant_ids or ("",))
    which = (body.type, body.worker or "default", body.timeout, body.max_jobs_to_activate)
    wanted = JobsWanted(*which, tuple(body.fetch_variable or ()), tenants)
    work = call.service.activate_jobs(wanted, body.request_timeout or 0)
    jobs = accepted(await while_there(call.request, work), "ACTIVATE")
    return answer(Activated([_job(job) for job in jobs]))


_SAME_FOR_ALL: dict[str, Any] = {
    **{"kind": "BPMN_ELEMENT", "listener_event_type": "UNSPECIFIED", "user_task": None},
    **{"tags": [], "priority": 0, "lease_token": None, "physical_tenant_id": "default"},
}


def _job(job: ActivatedJob) -> JobAnswer:
    return JobAnswer(
        job_key=str(job.key),
        type=job.type,
        process_instance_key=str(job.instance_key),
        root_process_instance_key=None,
        process_definition_id=job.process_id,
        process_definition_version=job.version,
        process_definition_key=str(job.definition_key),
        element_id=job.element_id,
        element_instance_key=str(job.element_key),
        custom_headers=job.headers,
        worker=job.worker,
        retries=job.retries,
        deadline=job.deadline // 1_000,
        variables=job.variables,
        tenant_id=job.tenant_id,
        business_id=job.business_id or None,
        **_SAME_FOR_ALL,
    )


def _completion(body: CompleteJobBody) -> tuple[Any, ...]:
    if decides_something(body.result or {}):
        raise unimplemented("Completing a job with a result")
    if body.business_id:
        raise unimplemented("Completing a job with a businessId")
    _without_lease(body.lease_token)
    return (body.variables or {},)


def _without_lease(token: str | None) -> None:
    """No job is handed out with one."""
    if token:
        raise unimplemented("A leaseToken")


def _failure(body: FailJobBody) -> tuple[Any, ...]:
    _without_lease(body.lease_token)
    return body.retries or 0, body.error_message or "", body.retry_back_off or 0, body.variables


def _error(body: ThrownError) -> tuple[Any, ...]:
    _without_lease(body.lease_token)
    return needed("errorCode", body.error_code), body.error_message or "", body.variables


async def update(call: RestCall) -> Response:
    key, changes = call.key("jobKey"), call.body.changeset
    if changes.retries is None and changes.timeout is None:
        raise invalid("No changeset provided: it has retries, timeout or both")
    # All or nothing: the first can be refused, the second is not, unless the job is gone and all of it with it.
    if changes.timeout is not None:
        await call.command(Calls.update_timeout, key, changes.timeout)
    if changes.retries is not None:
        await call.command(Calls.update_retries, key, changes.retries)
    return Response(status_code=204)


async def complete_task(call: RestCall) -> Response:
    key = call.key("userTaskKey")
    if await call.service.look_up(one, call.service.broker, USER_TASKS, key) is None:
        raise not_found(f"Command 'COMPLETE' rejected with code 'NOT_FOUND': no user task with key {key} was found")
    await call.command(Calls.complete_job, key, call.body.variables or {})
    return Response(status_code=204)


_ONE_CHANGE = [{"required": [name], "properties": {name: {"type": "integer"}}} for name in ("retries", "timeout")]
_SOMETHING = {"properties": {"changeset": {"anyOf": _ONE_CHANGE}}}

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
    command(
        *("POST", "/v2/jobs/{jobKey}/completion", "completeJob", "The job is done", Calls.complete_job, _completion),
        body=CompleteJobBody,
        needs_body=False,
        refuses=(501,),
        example={"variables": {"shipped": True}},
    ),
    command(
        *("POST", "/v2/jobs/{jobKey}/failure", "failJob", "The job failed; without retries it is an incident"),
        *(Calls.fail_job, _failure),
        body=FailJobBody,
        needs_body=False,
        refuses=(501,),
        example={"retries": 2, "errorMessage": "no stock"},
    ),
    command(
        *("POST", "/v2/jobs/{jobKey}/error", "throwJobError", "The job ends with an error of the model"),
        *(Calls.throw_error, _error),
        body=ThrownError,
        refuses=(501,),
        example={"errorCode": "out-of-stock"},
    ),
    Endpoint(
        *("PATCH", "/v2/jobs/{jobKey}", "updateJob", "Change the retries or the timeout of a job", update),
        body=Update,
        narrower=_SOMETHING,
        refuses=(409, 504),
        example={"changeset": {"retries": 3}},
    ),
    command(
        *("POST", "/v2/user-tasks/{userTaskKey}/assignment", "assignUserTask", "Assign a task to a person"),
        *(Calls.assign_task, lambda body: (body.assignee, body.allow_override is not False)),
        body=Assignment,
        example={"assignee": "ada"},
    ),
    command(
        *("DELETE", "/v2/user-tasks/{userTaskKey}/assignee", "unassignUserTask", "Take a task from a person"),
        *(Calls.assign_task, lambda body: ("",)),
    ),
    Endpoint(
        *("POST", "/v2/user-tasks/{userTaskKey}/completion", "completeUserTask", "The task is done", complete_task),
        body=CompleteUserTaskBody,
        needs_body=False,
        refuses=(409, 504),
        example={"variables": {"approved": True}},
    ),
)

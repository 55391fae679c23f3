"""User tasks of Zeebe's form: assigned to a person, and completed. They are jobs that no worker sees."""

from typing import Annotated

from msgspec import Meta
from starlette.responses import Response

from conjoin.gateway.http.problems import accepted, invalid, not_found
from conjoin.gateway.http.reading import key_in
from conjoin.gateway.rest.endpoint import Endpoint, RestCall, done
from conjoin.gateway.rest.openapi.schemas import TEXT
from conjoin.gateway.rest.v2.shapes import Shape, Variables
from conjoin.gateway.search.engine.engine import one
from conjoin.gateway.search.jobs import USER_TASKS
from conjoin.runtime.client_api.calls import Calls


class Assignment(Shape):
    assignee: Annotated[str, Meta(min_length=1, pattern=TEXT["pattern"])]
    allow_override: bool | None = None
    action: str | None = None


class CompleteUserTaskBody(Shape):
    variables: Variables | None = None
    action: str | None = None


async def assign(call: RestCall) -> Response:
    said: Assignment = call.body
    if not said.assignee:
        raise invalid("No assignee provided")
    override = said.allow_override is not False
    key = key_in(call.request, "userTaskKey")
    return done(await call.service.call(Calls.assign_task, key, said.assignee, override), "ASSIGN")


async def unassign(call: RestCall) -> Response:
    return done(await call.service.call(Calls.assign_task, key_in(call.request, "userTaskKey"), ""), "ASSIGN")


async def complete(call: RestCall) -> Response:
    said: CompleteUserTaskBody = call.body
    key = key_in(call.request, "userTaskKey")
    if await call.service.look_up(one, call.service.broker, USER_TASKS, key) is None:
        raise not_found(f"Command 'COMPLETE' rejected with code 'NOT_FOUND': no user task with key {key} was found")
    accepted(await call.service.call(Calls.complete_job, key, said.variables or {}), "COMPLETE")
    return Response(status_code=204)


ENDPOINTS = (
    Endpoint(
        *("POST", "/v2/user-tasks/{userTaskKey}/assignment", "assignUserTask", "Assign a task to a person", assign),
        body=Assignment,
        refuses=(409, 504),
        example={"assignee": "ada"},
    ),
    Endpoint(
        "DELETE",
        "/v2/user-tasks/{userTaskKey}/assignee",
        "unassignUserTask",
        "Take a task from a person",
        unassign,
        refuses=(409, 504),
    ),
    Endpoint(
        *("POST", "/v2/user-tasks/{userTaskKey}/completion", "completeUserTask", "The task is done", complete),
        body=CompleteUserTaskBody,
        needs_body=False,
        refuses=(409, 504),
        example={"variables": {"approved": True}},
    ),
)

"""Deployments, instances, jobs, incidents, user tasks and signals over REST: each call, and its refusals."""

import threading
import time
from typing import Any

import pytest

from tests.gateway.rest.conftest import AT_ONCE, Rest

ACTIVATION = {"type": "ship", "timeout": 60_000, "maxJobsToActivate": 32, "requestTimeout": -1}


def at_ship(rest: Rest, key: str) -> tuple[str, Any]:
    """An instance whose job somebody has."""
    instance = rest.create("order", {"orderId": key})
    rest.call("POST", "/v2/messages/publication", {"name": "paid", "correlationKey": key, "variables": {"amount": 40}})
    jobs = rest.call("POST", "/v2/jobs/activation", ACTIVATION)["jobs"]
    return instance, next(job for job in jobs if job["processInstanceKey"] == instance)


def state_of(rest: Rest, instance: str) -> str:
    return str(rest.call("GET", f"/v2/process-instances/{instance}")["state"])


def test_job_is_activated_with_what_its_worker_needs_and_completed(rest: Rest) -> None:
    instance, job = at_ship(rest, "job-1")
    assert job["variables"] == {"orderId": "job-1", "amount": 40}
    assert (job["elementId"], job["processDefinitionId"], job["worker"], job["retries"]) == (
        "ship",
        "order",
        "default",
        3,
    )
    assert job["deadline"] > time.time() * 1_000
    assert rest.post(f"/v2/jobs/{job['jobKey']}/completion", json={"variables": {"sent": True}}).status_code == 204
    assert state_of(rest, instance) == "COMPLETED"
    status, detail = rest.problem("POST", f"/v2/jobs/{job['jobKey']}/completion")
    assert (status, detail.split(":")[0]) == (404, "Command 'COMPLETE' rejected with code 'NOT_FOUND'")


def test_poll_for_jobs_is_answered_when_one_turns_up(rest: Rest) -> None:
    answers: list[Any] = []
    wanted = ACTIVATION | {"type": "work", "requestTimeout": 20_000}
    poll = threading.Thread(target=lambda: answers.append(rest.call("POST", "/v2/jobs/activation", wanted)))
    poll.start()
    began = time.monotonic()
    rest.call("POST", "/v2/messages/publication", {"name": "opened", "correlationKey": "polled"})
    poll.join(20)
    assert [job["type"] for job in answers[0]["jobs"]] == ["work"]
    assert time.monotonic() - began < 5


def test_poll_of_a_client_that_is_gone_takes_no_job(rest: Rest) -> None:
    with Rest(base_url=rest.base_url, timeout=0.3) as impatient, pytest.raises(Exception, match="timed out"):
        impatient.call("POST", "/v2/jobs/activation", ACTIVATION | {"type": "ship-gone", "requestTimeout": 20_000})
    content = AT_ONCE.replace(b'id="at-once"', b'id="gone"').replace(
        b'<endEvent id="end"/>',
        b'<endEvent id="end"><extensionElements><zeebe:taskDefinition type="ship-gone"/></extensionElements>'
        b'<messageEventDefinition messageRef="m"/></endEvent>',
    )
    rest.deploy(content.replace(b"</definitions>", b'<message id="m" name="m"/></definitions>'))
    instance = rest.create("gone")
    time.sleep(0.2)
    [job] = rest.found("jobs", {"processInstanceKey": instance})
    assert (job["worker"], job["deadline"]) == ("", None)


def test_failed_job_is_an_incident_until_it_has_retries_and_is_resolved(rest: Rest) -> None:
    instance, job = at_ship(rest, "job-2")
    rest.call("POST", f"/v2/jobs/{job['jobKey']}/failure", {"retries": 0, "errorMessage": "no boxes"})
    [incident] = rest.found("incidents", {"processInstanceKey": instance})
    assert (incident["errorType"], incident["errorMessage"], incident["jobKey"]) == (
        "JOB_NO_RETRIES",
        "no boxes",
        job["jobKey"],
    )
    assert rest.call("GET", f"/v2/incidents/{incident['incidentKey']}") == incident
    assert rest.call("POST", f"/v2/process-instances/{instance}/incidents/search")["items"] == [incident]
    assert rest.problem("POST", f"/v2/jobs/{job['jobKey']}/completion", {})[0] == 409
    rest.call("PATCH", f"/v2/jobs/{job['jobKey']}", {"changeset": {"retries": 2}})
    rest.call("POST", f"/v2/incidents/{incident['incidentKey']}/resolution")
    assert rest.found("incidents", {"processInstanceKey": instance}) == []
    assert rest.problem("POST", f"/v2/incidents/{incident['incidentKey']}/resolution")[0] == 404


def test_job_is_changed_in_all_that_was_asked_for_or_in_nothing(rest: Rest) -> None:
    instance, job = at_ship(rest, "job-4")
    path = f"/v2/jobs/{job['jobKey']}"
    rest.call("PATCH", path, {"changeset": {"retries": 5, "timeout": 90_000}})
    rest.call("POST", f"{path}/failure", {"retries": 4})
    # Nobody has activated it now, so there is no timeout to change.
    assert rest.problem("PATCH", path, {"changeset": {"retries": 9, "timeout": 90_000}})[0] == 409
    assert rest.problem("PATCH", path, {"changeset": {"retries": 0, "timeout": 90_000}})[0] == 400
    assert [it["retries"] for it in rest.found("jobs", {"processInstanceKey": instance})] == [4]


def test_text_that_no_database_takes_is_refused(rest: Rest) -> None:
    wanted = {"type": "none", "timeout": 1, "maxJobsToActivate": 1, "requestTimeout": -1}
    assert "[worker]" in rest.problem("POST", "/v2/jobs/activation", {**wanted, "worker": "a\0b"})[1]
    assert "[signalName]" in rest.problem("POST", "/v2/signals/broadcast", {"signalName": "a\0b"})[1]
    assert rest.call("POST", "/v2/jobs/activation", wanted) == {"jobs": []}


def test_changes_of_a_job_are_refused_when_there_are_none_or_they_make_no_sense(rest: Rest) -> None:
    _, job = at_ship(rest, "job-3")
    path = f"/v2/jobs/{job['jobKey']}"
    rest.call("PATCH", path, {"changeset": {"timeout": 90_000}})
    assert rest.problem("PATCH", path, {"changeset": {}})[0] == 400
    assert rest.problem("PATCH", path, {"changeset": {"retries": 0}})[0] == 400
    assert rest.problem("PATCH", path, {"changeset": {"retry": 1}})[1].startswith("Request property [changeset.retry]")
    assert rest.problem("PATCH", "/v2/jobs/x", {"changeset": {"retries": 1}})[0] == 400
    assert rest.problem("POST", f"{path}/error", {"errorCode": ""})[0] == 400
    rest.call("POST", f"{path}/error", {"errorCode": "nobody-catches"})
    [incident] = rest.found("incidents", {"jobKey": job["jobKey"]})
    assert incident["errorType"] == "UNHANDLED_ERROR_EVENT"


def test_instance_is_stuck_until_its_variable_is_there(rest: Rest) -> None:
    instance = rest.create("stuck")
    [incident] = rest.found("incidents", {"processInstanceKey": instance})
    assert incident["errorType"] == "EXTRACT_VALUE_ERROR"
    rest.call("PUT", f"/v2/element-instances/{instance}/variables", {"variables": {"missing": "now"}})
    rest.call("POST", f"/v2/incidents/{incident['incidentKey']}/resolution", {})
    [waiting] = rest.found("message-subscriptions", {"processInstanceKey": instance})
    assert (waiting["messageName"], waiting["correlationKey"]) == ("stuck", "now")


def test_instance_is_cancelled_once(rest: Rest) -> None:
    instance = rest.create("order", {"orderId": "cancelled"}, businessId="b-cancel")
    assert rest.call("GET", f"/v2/process-instances/{instance}")["businessId"] == "b-cancel"
    assert rest.post(f"/v2/process-instances/{instance}/cancellation").status_code == 204
    assert state_of(rest, instance) == "TERMINATED"
    assert rest.problem("POST", f"/v2/process-instances/{instance}/cancellation")[0] == 404
    assert rest.problem("POST", "/v2/process-instances/99/cancellation")[0] == 404


def test_instance_is_awaited_or_the_deadline_is_exceeded(rest: Rest) -> None:
    wanted = {"processDefinitionId": "at-once", "awaitCompletion": True, "variables": {"a": 1, "b": 2}}
    assert rest.call("POST", "/v2/process-instances", wanted)["variables"] == {"a": 1, "b": 2}
    assert rest.call("POST", "/v2/process-instances", wanted | {"fetchVariables": ["b"]})["variables"] == {"b": 2}
    never = {
        "processDefinitionId": "order",
        "awaitCompletion": True,
        "variables": {"orderId": "x"},
        "requestTimeout": 50,
    }
    assert rest.problem("POST", "/v2/process-instances", never)[0] == 504


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"processDefinitionId": "nowhere"}, 404, "'NOT_FOUND'"),
        ({"processDefinitionKey": "7777"}, 404, "7777"),
        ({"processDefinitionKey": "seven"}, 400, "[processDefinitionKey]"),
        ({"processDefinitionId": "order", "processDefinitionKey": "1"}, 400, "only one"),
        ({}, 400, "At least one of"),
        ({"processDefinitionId": "order", "processDefinitionVersion": 0}, 400, "-1"),
        ({"processDefinitionId": "order", "tags": ["a"]}, 501, "tags"),
        ({"processDefinitionId": "order", "startInstructions": [{"elementId": "ship"}]}, 501, "startInstructions"),
        ({"processDefinitionId": "ticket"}, 409, "INVALID_STATE"),
    ],
)
def test_instances_that_cannot_be_created(rest: Rest, body: object, status: int, said: str) -> None:
    answered, detail = rest.problem("POST", "/v2/process-instances", body)
    assert (answered, said in detail) == (status, True), detail


def test_deployment_tells_versions_and_its_model_is_read_again(rest: Rest) -> None:
    content = AT_ONCE.replace(b'id="at-once"', b'id="again" name="Again"')
    first, second = rest.deploy(content, "again.bpmn"), rest.deploy(content + b"\n", "again.bpmn")
    told = [it["deployments"][0]["processDefinition"] for it in (first, second)]
    assert [(it["processDefinitionId"], it["processDefinitionVersion"]) for it in told] == [("again", 1), ("again", 2)]
    key = told[0]["processDefinitionKey"]
    assert rest.get(f"/v2/process-definitions/{key}/xml").content == content
    one = rest.call("GET", f"/v2/process-definitions/{key}")
    assert (one["name"], one["version"], one["resourceName"]) == ("Again", 1, "again.bpmn")
    latest = rest.found("process-definitions", {"processDefinitionId": "again", "isLatestVersion": True})
    assert [it["version"] for it in latest] == [2]
    assert rest.problem("GET", "/v2/process-definitions/1234567/xml")[0] == 404


def test_deployments_that_cannot_be(rest: Rest) -> None:
    path = "/v2/deployments"
    status, detail = rest.problem("POST", path, files={"resources": ("bad.bpmn", b"<no")})
    assert (status, "bad.bpmn" in detail) == (400, True)
    assert rest.problem("POST", path, files={"resource": ("a.bpmn", b"")})[0] == 400
    assert rest.problem("POST", path, files={"tenantId": (None, "a")}) == (400, "No resources provided")
    assert rest.problem("POST", path, {})[0] == 415
    assert rest.problem("POST", path, files={"resources": ("a.bpmn", b"x" * 5_000_000)})[0] == 413
    broken = {"content-type": "multipart/form-data; boundary=x"}
    assert rest.problem("POST", path, content=b"--y\r\n", headers=broken)[0] == 400


def test_tenants_do_not_see_each_others_processes(rest: Rest) -> None:
    rest.deploy(AT_ONCE, tenant_id="acme")
    mine = {"processDefinitionId": "at-once", "tenantId": "acme"}
    instance = rest.call("POST", "/v2/process-instances", mine)
    assert instance["tenantId"] == "acme"
    assert rest.problem("POST", "/v2/process-instances", mine | {"tenantId": "other"})[0] == 404


def test_user_task_is_found_assigned_and_completed(rest: Rest) -> None:
    instance = rest.create("people", {"groups": ["sales", "support"]})
    [task] = rest.found("user-tasks", {"processInstanceKey": instance})
    assert (task["name"], task["assignee"], task["candidateGroups"]) == ("Ask", None, ["sales", "support"])
    path = f"/v2/user-tasks/{task['userTaskKey']}"
    rest.call("POST", f"{path}/assignment", {"assignee": "ann"})
    assert rest.call("GET", path)["assignee"] == "ann"
    assert rest.problem("POST", f"{path}/assignment", {"assignee": "bob", "allowOverride": False})[0] == 409
    assert [it["userTaskKey"] for it in rest.found("user-tasks", {"assignee": "ann"})] == [task["userTaskKey"]]
    rest.call("DELETE", f"{path}/assignee")
    assert rest.found("user-tasks", {"processInstanceKey": instance, "assignee": {"$exists": True}}) == []
    rest.call("POST", f"{path}/completion", {"variables": {"answer": 42}})
    assert state_of(rest, instance) == "COMPLETED"
    assert rest.problem("POST", f"{path}/completion")[0] == 404


def test_job_is_no_user_task(rest: Rest) -> None:
    _, job = at_ship(rest, "job-4")
    assert rest.problem("POST", f"/v2/user-tasks/{job['jobKey']}/completion")[0] == 404
    assert rest.problem("POST", f"/v2/user-tasks/{job['jobKey']}/assignment", {"assignee": "ann"})[0] == 404


def test_signal_is_broadcast(rest: Rest) -> None:
    told = rest.call("POST", "/v2/signals/broadcast", {"signalName": "bell", "variables": {"loud": True}})
    assert told["tenantId"] == "<default>"
    assert rest.problem("POST", "/v2/signals/broadcast", {"signalName": ""})[0] == 400


def test_topology_has_a_partition_for_each_shard(rest: Rest) -> None:
    told = rest.call("GET", "/v2/topology")
    well = {"role": "leader", "health": "healthy", "state": "active"}
    assert told["brokers"][0]["partitions"] == [{"partitionId": number, **well} for number in (1, 2, 3)]
    assert told["partitionsCount"] == 3


def test_calls_that_are_not_here_are_named_and_unknown_paths_are_not_found(rest: Rest) -> None:
    for method, path in (
        ("POST", "/v2/process-instances/1/migration"),
        ("POST", "/v2/decision-definitions/evaluation"),
        ("GET", "/v2/roles/admin"),
        ("POST", "/v2/resources/1/deletion"),
    ):
        assert rest.problem(method, path) == (501, f"{method} {path} is not implemented")
    assert rest.problem("GET", "/v2/nothing")[0] == 404
    assert rest.problem("GET", "/v2/messages/publication")[0] == 405


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("activation", {"type": "t", "timeout": 1, "maxJobsToActivate": 1, "tenantFilter": "ASSIGNED"}, 501),
        ("activation", {"type": "t", "timeout": 1, "maxJobsToActivate": 1, "tenantFilter": "OTHER"}, 400),
        ("activation", {"type": "t", "timeout": 1, "maxJobsToActivate": 1, "withLease": True}, 501),
        ("7/completion", {"result": {"corrections": {"candidateUsers": []}}}, 501),
        ("7/completion", {"result": {"type": "adHocSubProcess"}}, 501),
        ("7/completion", {"result": {"type": "userTask", "denied": False, "corrections": {"assignee": None}}}, 404),
        ("7/completion", {"leaseToken": "t"}, 501),
        ("7/failure", {"leaseToken": "t"}, 501),
        ("7/error", {"errorCode": "e", "leaseToken": "t"}, 501),
        ("7/completion", {"somethingNew": 1}, 400),
    ],
)
def test_what_is_asked_of_a_job_and_not_done_is_refused(rest: Rest, path: str, body: dict, status: int) -> None:
    assert rest.post(f"/v2/jobs/{path}", json=body).status_code == status

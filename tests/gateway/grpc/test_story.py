"""What a client of Zeebe does with messages and instances, call by call."""

import json
from threading import Thread

from conjoin.gateway.service import Service
from conjoin.runtime.reading.lists import ListPage, ListQuery, list_page
from tests.bpmn.snippets import BEGIN, END, model, script
from tests.gateway.grpc_client import Client
from tests.gateway.models import with_job, with_message, with_message_and_job
from tests.gateway.server_thread import ServerThread


def test_message_reaches_its_instance_whether_it_comes_early_or_late(client: Client) -> None:
    client.deploy(with_message_and_job("early-late"))
    late = client.start("late", "early-late")
    client.publish("late", "early-late", variables='{"paid": 1.50}')
    client.publish("early", "early-late")
    early = client.start("early", "early-late")
    jobs = client.jobs("early-late")
    assert [job.processInstanceKey for job in jobs] == [late, early]
    assert json.loads(jobs[0].variables) == {"orderId": "late", "paid": 1.5}
    assert (jobs[0].bpmnProcessId, jobs[0].elementId, jobs[0].retries) == ("early-late", "work", 3)
    for job in jobs:
        client.CompleteJob(jobKey=job.key)
    assert client.refused("CancelProcessInstance", processInstanceKey=late)[0] == "NOT_FOUND"


def test_deployment_names_each_process_and_its_version(client: Client) -> None:
    first = client.deploy(with_job("versions"), "one.bpmn")
    again = client.deploy(with_job("versions"), "one.bpmn")
    other = client.deploy(with_message("versions"), "two.bpmn")
    deployed = [answer.deployments[0].process for answer in (first, again, other)]
    assert [(it.bpmnProcessId, it.version, it.resourceName) for it in deployed] == [
        ("versions", 1, "one.bpmn"),
        ("versions", 1, "one.bpmn"),
        ("versions", 2, "two.bpmn"),
    ]
    old = client.CreateProcessInstance(processDefinitionKey=deployed[0].processDefinitionKey)
    assert (old.bpmnProcessId, old.version, old.tenantId) == ("versions", 1, "<default>")


def test_same_id_is_refused_while_it_is_remembered(client: Client) -> None:
    first = client.publish("o", "twice", messageId="m-1")
    code, text = client.refused("PublishMessage", name="twice", correlationKey="o", messageId="m-1")
    assert code == "ALREADY_EXISTS"
    assert text.startswith("Command 'PUBLISH' rejected with code 'ALREADY_EXISTS': 'twice' with key 'o' has the id")
    assert str(first) in text


def test_message_whose_time_is_over_reaches_nobody(client: Client) -> None:
    client.deploy(with_message_and_job("short-lived"))
    client.publish("o", "short-lived", ttl_ms=0)
    client.start("o", "short-lived")
    assert client.jobs("short-lived") == []


def test_second_message_waits_until_the_instance_that_the_first_started_has_ended(client: Client) -> None:
    for _ in range(2):
        client.publish("locked", "opened")
    (job,) = client.jobs("work")
    client.CompleteJob(jobKey=job.key)
    (next_job,) = client.jobs("work", wait_ms=5_000)
    assert next_job.processInstanceKey > job.processInstanceKey
    client.CompleteJob(jobKey=next_job.key)


def test_cancelled_instance_is_gone(client: Client) -> None:
    key = client.start("to-cancel")
    client.CancelProcessInstance(processInstanceKey=key)
    code, text = client.refused("CancelProcessInstance", processInstanceKey=key)
    assert (code, str(key) in text) == ("NOT_FOUND", True)


def test_failed_job_is_an_incident_until_it_is_resolved(client: Client, gateway: ServerThread) -> None:
    client.deploy(with_job("fragile"))
    key = client.start("o", "fragile")
    (job,) = client.jobs("fragile")
    client.FailJob(jobKey=job.key, retries=0, errorMessage="no stock", variables='{"tried": true}')
    (incident,) = _incidents(gateway, key)
    assert incident.text == "no stock"
    assert client.refused("ResolveIncident", incidentKey=incident.key)[0] == "FAILED_PRECONDITION"
    client.UpdateJobRetries(jobKey=job.key, retries=1)
    client.ResolveIncident(incidentKey=incident.key)
    (again,) = client.jobs("fragile")
    assert (again.key, again.retries, json.loads(again.variables)["tried"]) == (job.key, 1, True)
    client.ThrowError(jobKey=again.key, errorCode="sold-out")
    assert [it.error_type for it in _incidents(gateway, key)] == ["UNHANDLED_ERROR_EVENT"]


def _incidents(gateway: ServerThread, instance: int) -> list[object]:
    async def look(service: Service) -> ListPage:
        return await service.look(list_page, service.broker, "incidents", ListQuery({"instance": instance}))

    return gateway.run(look).items


def test_variables_that_are_set_are_seen_by_the_job(client: Client) -> None:
    client.deploy(with_message_and_job("set"))
    key = client.start("o", "set")
    client.SetVariables(elementInstanceKey=key, variables='{"colour": "red"}')
    client.publish("o", "set")
    (job,) = client.jobs("set", fetchVariable=["colour", "unknown"])
    assert json.loads(job.variables) == {"colour": "red"}
    assert client.refused("SetVariables", elementInstanceKey=1)[0] == "NOT_FOUND"


def test_creation_with_result_answers_with_the_variables_of_the_end(client: Client) -> None:
    client.deploy(model(BEGIN + script("count") + END, "begin>count count>end").replace(b'"order"', b'"at-once"'))
    asked = {"bpmnProcessId": "at-once", "variables": '{"n": 41, "other": 1}'}
    result = client.CreateProcessInstanceWithResult(request=asked, fetchVariables=["n"])
    assert (json.loads(result.variables), result.bpmnProcessId) == ({"n": 42}, "at-once")


def test_creation_with_result_waits_for_the_end_and_no_longer_than_asked(client: Client) -> None:
    client.deploy(with_message("later"))
    asked = {"bpmnProcessId": "later", "variables": '{"orderId": "o"}'}
    answers: list[object] = []
    waiting = Thread(target=lambda: answers.append(client.CreateProcessInstanceWithResult(request=asked)))
    waiting.start()
    client.publish("o", "later", variables='{"seen": true}')
    waiting.join(timeout=10)
    assert json.loads(answers[0].variables) == {"orderId": "o", "seen": True}
    late = {"bpmnProcessId": "later", "variables": '{"orderId": "never"}'}
    refused = client.refused("CreateProcessInstanceWithResult", request=late, requestTimeout=50)
    assert refused[0] == "DEADLINE_EXCEEDED"

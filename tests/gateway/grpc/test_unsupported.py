"""Whatever a request asks for and is not done here is refused by name, also what only newer clients know."""

from typing import Any

import grpc
import pytest

from conjoin.gateway.grpc.reading import check_of
from conjoin.gateway.grpc.wire import SERVICE, WIRE
from tests.gateway.grpc_client import Client
from tests.gateway.models import with_job
from tests.gateway.server_thread import ServerThread

NEWER = b"\xf8\x3f\x01"
"""The field with the number 1,023: 1."""
WANTED = {"type": "t", "worker": "w", "timeout": 1_000}
NOT_HERE = [
    ("CreateProcessInstance", {"bpmnProcessId": "order", "tags": ["a"]}, "tags"),
    ("CreateProcessInstance", {"bpmnProcessId": "order", "runtimeInstructions": [{}]}, "runtimeInstructions"),
    ("CreateProcessInstanceWithResult", {"request": {"bpmnProcessId": "order", "tags": ["a"]}}, "tags"),
    ("ActivateJobs", {**WANTED, "maxJobsToActivate": 1, "tenantFilter": 1}, "tenantFilter"),
    ("ActivateJobs", {**WANTED, "maxJobsToActivate": 1, "withLease": True}, "withLease"),
    ("StreamActivatedJobs", {**WANTED, "tenantFilter": 1}, "tenantFilter"),
    ("StreamActivatedJobs", {**WANTED, "withLease": True}, "withLease"),
    ("CompleteJob", {"jobKey": 7, "result": {"denied": True}}, "result"),
    ("CompleteJob", {"jobKey": 7, "result": {"corrections": {"assignee": ""}}}, "result"),
    ("CompleteJob", {"jobKey": 7, "result": {"type": "adHocSubProcess"}}, "result"),
    ("CompleteJob", {"jobKey": 7, "result": {"activateElements": [{"elementId": "a"}]}}, "result"),
    ("CompleteJob", {"jobKey": 7, "result": {"isCancelRemainingInstances": True}}, "result"),
]


@pytest.mark.parametrize(("call", "fields", "part"), NOT_HERE)
def test_what_is_not_done_is_refused_by_name(client: Client, call: str, fields: dict[str, Any], part: str) -> None:
    code, text = client.refused(call, **fields)
    assert (code, part in text) == ("UNIMPLEMENTED", True)


@pytest.mark.parametrize("result", [{}, {"denied": False}, {"type": "userTask", "corrections": {}}])
def test_result_that_says_nothing_is_taken(client: Client, result: dict[str, Any]) -> None:
    assert client.refused("CompleteJob", jobKey=7, result=result)[0] == "NOT_FOUND"


@pytest.mark.parametrize("name", [name for name in WIRE if name.endswith("Request")])
def test_fields_of_newer_clients_are_never_left_out_in_silence(name: str) -> None:
    request = WIRE[name]
    assert check_of(request.DESCRIPTOR)(request()) is None
    refused = check_of(request.DESCRIPTOR)(request.FromString(NEWER))
    assert refused is not None
    assert "1023" in refused.text
    for field in request.DESCRIPTOR.fields:
        if field.message_type is not None:
            inner = WIRE[field.message_type.name].FromString(NEWER)
            outer = request(**{field.name: [inner] if field.is_repeated else inner})
            assert check_of(request.DESCRIPTOR)(outer) is not None, field.name


def test_newer_field_is_refused_over_the_wire(gateway: ServerThread) -> None:
    with grpc.insecure_channel(gateway.grpc) as channel:
        publish = channel.unary_unary(f"/{SERVICE}/PublishMessage")
        sent = WIRE["PublishMessageRequest"](name="m", correlationKey="k").SerializeToString() + NEWER
        with pytest.raises(grpc.RpcError) as refused:
            publish(sent, timeout=20)
    assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_job_is_no_listeners_job(client: Client) -> None:
    client.deploy(with_job("no-listener"))
    client.CreateProcessInstance(bpmnProcessId="no-listener", version=-1)
    wanted = {"type": "no-listener", "worker": "w", "timeout": 60_000, "maxJobsToActivate": 1}
    [job] = next(iter(client.ActivateJobs(**wanted))).jobs
    kinds = WIRE["ActivatedJob"]
    assert kinds.ListenerEventType.Name(job.listenerEventType) == "UNSPECIFIED"
    assert kinds.JobKind.Name(job.kind) == "BPMN_ELEMENT"

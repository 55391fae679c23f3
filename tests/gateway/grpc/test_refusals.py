"""What is refused, with which status, and in which words; what is not implemented says its name."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import monotonic

import grpc
import pytest

from conjoin.runtime.reading.lists import ListQuery, list_page
from tests.gateway.grpc_client import HOUR_MS, Client
from tests.gateway.server_thread import ServerThread, limited


@pytest.mark.parametrize(
    ("call", "fields", "status", "part"),
    [
        ("PublishMessage", {"name": " "}, "INVALID_ARGUMENT", "a message needs a name"),
        ("PublishMessage", {"name": "m", "variables": "[1]"}, "INVALID_ARGUMENT", "send one JSON object"),
        ("PublishMessage", {"name": "m", "variables": '{"a": 1} x'}, "INVALID_ARGUMENT", "not JSON"),
        ("PublishMessage", {"name": "m", "variables": "[" * 100_000}, "INVALID_ARGUMENT", "not JSON"),
        ("PublishMessage", {"name": "m", "correlationKey": "k\0"}, "INVALID_ARGUMENT", "no text"),
        ("PublishMessage", {"name": "m", "tenantId": "no tenant"}, "INVALID_ARGUMENT", "is no tenant id"),
        ("DeployResource", {}, "INVALID_ARGUMENT", "nothing to deploy"),
        ("DeployResource", {"resources": [{"name": "x.bpmn", "content": b"<x/>"}]}, "INVALID_ARGUMENT", "x.bpmn"),
        ("CreateProcessInstance", {}, "INVALID_ARGUMENT", "name a process"),
        ("CreateProcessInstance", {"bpmnProcessId": "nowhere"}, "NOT_FOUND", "'nowhere'"),
        ("CreateProcessInstance", {"bpmnProcessId": "order", "version": 77}, "NOT_FOUND", "version 77"),
        ("CreateProcessInstance", {"processDefinitionKey": 77}, "NOT_FOUND", "77"),
        ("CreateProcessInstance", {"bpmnProcessId": "ticket"}, "FAILED_PRECONDITION", "no none start event"),
        (
            "CreateProcessInstance",
            {"bpmnProcessId": "order", "startInstructions": [{"elementId": "ship"}]},
            "UNIMPLEMENTED",
            "startInstructions",
        ),
        ("CompleteJob", {"jobKey": 2251799813685999999}, "NOT_FOUND", "no job with key"),
        ("FailJob", {"jobKey": 77, "retries": 1}, "NOT_FOUND", "77"),
        ("ThrowError", {"jobKey": 77, "errorCode": "e"}, "NOT_FOUND", "77"),
        ("UpdateJobRetries", {"jobKey": 77, "retries": 1}, "NOT_FOUND", "77"),
        ("UpdateJobTimeout", {"jobKey": 77, "timeout": 1}, "NOT_FOUND", "77"),
        ("ResolveIncident", {"incidentKey": -1}, "NOT_FOUND", "-1"),
        ("BroadcastSignal", {}, "INVALID_ARGUMENT", "a signal needs a name"),
        ("ActivateJobs", {"worker": "w", "timeout": 1, "maxJobsToActivate": 1}, "INVALID_ARGUMENT", "type"),
        ("ActivateJobs", {"type": "t", "timeout": 1, "maxJobsToActivate": 1}, "INVALID_ARGUMENT", "worker"),
        ("ActivateJobs", {"type": "t", "worker": "w", "maxJobsToActivate": 1}, "INVALID_ARGUMENT", "timeout"),
        ("ActivateJobs", {"type": "t", "worker": "w", "timeout": 1}, "INVALID_ARGUMENT", "at least one"),
        ("StreamActivatedJobs", {"type": "t", "worker": "w"}, "INVALID_ARGUMENT", "timeout"),
        ("ModifyProcessInstance", {}, "UNIMPLEMENTED", "ModifyProcessInstance"),
        ("MigrateProcessInstance", {}, "UNIMPLEMENTED", "MigrateProcessInstance"),
        ("EvaluateDecision", {}, "UNIMPLEMENTED", "EvaluateDecision"),
        ("DeleteResource", {}, "UNIMPLEMENTED", "DeleteResource"),
    ],
)
def test_refusal_says_what_is_the_matter(client: Client, call: str, fields: dict, status: str, part: str) -> None:
    code, text = client.refused(call, **fields)
    assert code == status
    assert part in text


def test_text_that_is_too_long_for_a_header_is_cut(client: Client) -> None:
    key = "\N{SNOWMAN}" * 30_000
    client.publish(key, "long", messageId="m")
    code, text = client.refused("PublishMessage", name="long", correlationKey=key, messageId="m")
    assert (code, text.endswith(" ...")) == ("ALREADY_EXISTS", True)


def test_bytes_that_are_no_message_are_refused(gateway: ServerThread) -> None:
    with grpc.insecure_channel(gateway.grpc) as channel:
        for call in ("PublishMessage", "ActivateJobs"):
            with pytest.raises(grpc.RpcError) as refused:
                list(channel.unary_stream(f"/gateway_protocol.Gateway/{call}")(b"\xff\xff", timeout=10))
            assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_text_that_no_database_takes_is_refused(client: Client) -> None:
    assert client.refused("BroadcastSignal", signalName="a\0b")[0] == "INVALID_ARGUMENT"
    wanted = {"type": "a\0b", "worker": "w", "timeout": 1, "maxJobsToActivate": 1}
    assert client.refused("ActivateJobs", **wanted)[0] == "INVALID_ARGUMENT"


def test_request_larger_than_four_megabytes_is_refused(client: Client) -> None:
    code, _ = client.refused("PublishMessage", name="m", messageId="x" * (4 * 1024 * 1024))
    assert code == "RESOURCE_EXHAUSTED"


def test_requests_beyond_the_limit_are_refused_and_one_whose_deadline_passes_is_not_carried_out() -> None:
    server = ServerThread(1, limited(in_flight=2))
    client = Client(server.grpc)
    begun, go_on = Event(), Event()
    server.service.listeners.append(lambda commit: begun.set() or go_on.wait(10))
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(client.publish, "k", "first")
        assert begun.wait(10)
        second = threads.submit(client.refused, "PublishMessage", name="second", timeToLive=HOUR_MS, deadline_s=0.5)
        _until_under_way(server, 2)
        code, text = client.refused("PublishMessage", name="third")
        assert (code, "try again" in text) == ("RESOURCE_EXHAUSTED", True)
        assert second.result(timeout=10)[0] == "DEADLINE_EXCEEDED"
        _until_under_way(server, 1)
        go_on.set()
        assert first.result(timeout=10) > 0
    client.publish("k", "fourth")
    kept = [item.name for item in list_page(server.broker, "messages", ListQuery()).items]
    client.close()
    server.stop()
    assert kept == ["first", "fourth"]


def _until_under_way(server: ServerThread, count: int) -> None:
    until = monotonic() + 10
    while server.service.under_way != count:
        assert monotonic() < until

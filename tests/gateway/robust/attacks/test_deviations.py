"""What a client of gRPC asks for and does not get is refused by name: nothing is left out, or made up, in silence."""

from collections.abc import Iterator
from typing import Any

import pytest

from conjoin.gateway.grpc.wire import WIRE
from tests.gateway.grpc_client import Client
from tests.gateway.models import with_job
from tests.gateway.robust.serving import ServingProcess

WANTED = {"type": "job", "worker": "w", "timeout": 60_000, "maxJobsToActivate": 1}
STREAMED = {name: value for name, value in WANTED.items() if name != "maxJobsToActivate"}
NOT_HERE: list[tuple[str, dict[str, Any], str]] = [
    ("CreateProcessInstance", {"bpmnProcessId": "job", "version": -1, "tags": ["a"]}, "tags"),
    ("ActivateJobs", {**WANTED, "tenantFilter": 1}, "tenantFilter"),
    ("ActivateJobs", {**WANTED, "withLease": True}, "withLease"),
    ("StreamActivatedJobs", {**STREAMED, "tenantFilter": 1}, "tenantFilter"),
]
RESULTS: list[dict[str, Any]] = [{"denied": True}, {"corrections": {"assignee": ""}}]


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    process = ServingProcess(tmp_path_factory.mktemp("deviations") / "store")
    client = Client(process.grpc)
    client.deploy(with_job("job"))
    yield client
    client.close()
    assert process.stop() == 0
    assert "Traceback" not in process.complaints


@pytest.mark.parametrize(("call", "fields", "part"), NOT_HERE)
def test_what_is_not_done_is_refused_by_name(client: Client, call: str, fields: dict[str, Any], part: str) -> None:
    code, text = client.refused(call, **fields)
    assert (code, part in text) == ("UNIMPLEMENTED", True)


@pytest.mark.parametrize("result", RESULTS)
def test_a_job_is_not_completed_without_the_result_that_its_worker_sent(client: Client, result: dict[str, Any]) -> None:
    client.CreateProcessInstance(bpmnProcessId="job", version=-1)
    [job] = next(iter(client.ActivateJobs(**WANTED))).jobs
    code, text = client.refused("CompleteJob", jobKey=job.key, result=result)
    assert (code, "result" in text) == ("UNIMPLEMENTED", True)
    client.CompleteJob(jobKey=job.key)


def test_a_job_of_a_task_is_no_listeners_job(client: Client) -> None:
    client.CreateProcessInstance(bpmnProcessId="job", version=-1)
    [job] = next(iter(client.ActivateJobs(**WANTED))).jobs
    assert WIRE["ActivatedJob"].ListenerEventType.Name(job.listenerEventType) == "UNSPECIFIED"

"""Workers: long polls and streams wake at once, are served in turn, and take nothing when they are gone."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from time import monotonic
from typing import Any

import pytest

from tests.gateway.grpc_client import Client
from tests.gateway.models import with_job
from tests.gateway.server_thread import ServerThread


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(8) as threads:
        yield threads


def until_waiting(gateway: ServerThread, type_: str, count: int) -> None:
    """So many wait in the line of a type."""

    async def waiting(service: Any) -> int:
        queue = service._jobs._queues.get(type_)
        return len(queue.waiters) if queue is not None else 0

    until = monotonic() + 10
    while gateway.run(waiting) != count:
        assert monotonic() < until, f"nobody waits for {type_}"


def test_long_poll_is_answered_as_soon_as_there_is_a_job(
    client: Client, gateway: ServerThread, threads: ThreadPoolExecutor
) -> None:
    client.deploy(with_job("awaited"))
    poll = threads.submit(client.jobs, "awaited", 1, 10_000)
    until_waiting(gateway, "awaited", 1)
    began = monotonic()
    key = client.start("o", "awaited")
    (job,) = poll.result(timeout=10)
    # The look every second would take longer than this on average.
    assert (job.processInstanceKey, monotonic() - began < 0.5) == (key, True)


def test_long_poll_without_jobs_is_answered_empty_when_its_time_is_over(client: Client) -> None:
    began = monotonic()
    assert client.jobs("nobody-makes-these", 1, 150) == []
    assert 0.1 < monotonic() - began < 5


def test_polls_are_served_in_the_order_in_which_they_came(
    client: Client, gateway: ServerThread, threads: ThreadPoolExecutor
) -> None:
    client.deploy(with_job("in-turn"))
    polls = []
    for number in range(3):
        polls.append(threads.submit(client.jobs, "in-turn", 1, 10_000))
        until_waiting(gateway, "in-turn", number + 1)
    started = [client.start(f"o-{number}", "in-turn") for number in range(3)]
    assert [poll.result(timeout=10)[0].processInstanceKey for poll in polls] == started


def test_client_that_is_gone_takes_no_job_away(
    client: Client, gateway: ServerThread, threads: ThreadPoolExecutor
) -> None:
    client.deploy(with_job("unwanted"))
    asked = {"type": "unwanted", "worker": "gone", "timeout": 60_000, "maxJobsToActivate": 5}
    gone = client.ActivateJobs(**asked)
    threads.submit(lambda: gone.code())
    until_waiting(gateway, "unwanted", 1)
    gone.cancel()
    until_waiting(gateway, "unwanted", 0)
    client.start("o", "unwanted")
    assert [job.worker for job in client.jobs("unwanted")] == ["test"]


def test_streams_get_jobs_as_they_turn_up_and_share_them(client: Client, gateway: ServerThread) -> None:
    client.deploy(with_job("streamed"))
    streams = [
        client.StreamActivatedJobs(type="streamed", worker=f"w-{number}", timeout=60_000, fetchVariable=["orderId"])
        for number in range(2)
    ]
    until_waiting(gateway, "streamed", 2)
    for number in range(6):
        client.start(f"o-{number}", "streamed", other=1)
    taken = [[next(stream) for _ in range(3)] for stream in streams]
    for stream in streams:
        stream.cancel()
    assert [{job.worker for job in jobs} for jobs in taken] == [{"w-0"}, {"w-1"}]
    seen = sorted(json.loads(job.variables)["orderId"] for jobs in taken for job in jobs)
    assert seen == [f"o-{number}" for number in range(6)]
    assert "other" not in json.loads(taken[0][0].variables)
    until_waiting(gateway, "streamed", 0)


def test_oldest_jobs_of_all_partitions_come_first(client: Client) -> None:
    client.deploy(with_job("old-first"))
    started = [client.start(f"o-{number}", "old-first") for number in range(12)]
    assert len({key >> 51 for key in started}) == 2
    jobs = [*client.jobs("old-first", 5), *client.jobs("old-first", 20)]
    assert [job.processInstanceKey for job in jobs] == started


def test_job_comes_back_after_its_timeout_and_after_its_back_off(client: Client) -> None:
    client.deploy(with_job("slow"))
    client.start("o", "slow")
    (first,) = client.jobs("slow", timeout=3_600_000)
    client.UpdateJobTimeout(jobKey=first.key, timeout=1)
    (second,) = client.jobs("slow", 1, 5_000)
    client.FailJob(jobKey=second.key, retries=2, retryBackOff=200)
    assert client.jobs("slow") == []
    (third,) = client.jobs("slow", 1, 5_000)
    assert {job.key for job in (first, second, third)} == {first.key}
    assert [job.retries for job in (first, second, third)] == [3, 3, 2]
    client.CompleteJob(jobKey=third.key)
    assert client.refused("CompleteJob", jobKey=third.key)[0] == "NOT_FOUND"


def test_jobs_of_several_tenants_come_in_one_answer_and_those_of_others_never(client: Client) -> None:
    for tenant in ("red", "blue", "green"):
        client.DeployResource(resources=[{"name": "t.bpmn", "content": with_job("tenants")}], tenantId=tenant)
        client.CreateProcessInstance(bpmnProcessId="tenants", tenantId=tenant)
    assert client.jobs("tenants") == []
    assert [job.tenantId for job in client.jobs("tenants", tenantIds=["blue", "red"])] == ["red", "blue"]


def test_open_polls_are_answered_empty_and_streams_end_when_the_server_stops(threads: ThreadPoolExecutor) -> None:
    server = ServerThread(1)
    client = Client(server.grpc)
    poll = threads.submit(client.jobs, "never", 1, 60_000, deadline_s=60)
    stream = threads.submit(list, client.StreamActivatedJobs(type="never", worker="w", timeout=1, deadline_s=60))
    until_waiting(server, "never", 2)
    server.stop()
    assert (poll.result(timeout=10), stream.result(timeout=10)) == ([], [])
    client.close()

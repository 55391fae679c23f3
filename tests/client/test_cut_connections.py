"""Connections that are cut before the server has a request, and after it has committed: nothing happens twice."""

import asyncio
import socket
from itertools import count

import pytest

from conjoin.client import AsyncClient, Client, Patience, Publication, WorkerOptions
from conjoin.errors import AlreadyThere, NoAnswer
from tests.client.cutting_proxy import ANSWERED, ARRIVES, CuttingProxy
from tests.gateway.models import with_job

HOUR_MS = 3_600_000
QUICK = Patience(attempts=4, first_pause_s=0.01, longest_pause_s=0.05)
_NUMBERS = count()


@pytest.fixture
def key() -> str:
    return f"cut-{next(_NUMBERS)}"


@pytest.fixture
def through(proxy: CuttingProxy) -> Client:
    return Client(proxy.address, patience=QUICK)


@pytest.mark.parametrize("when", [ARRIVES, ANSWERED])
@pytest.mark.parametrize("id_", ["", "mine"])
def test_message_that_lives_is_sent_again_and_there_once(
    client: Client, through: Client, proxy: CuttingProxy, key: str, when: str, id_: str
) -> None:
    proxy.cut(key.encode(), when)
    fate = through.publish(Publication("paid", key, {"amount": 40}, HOUR_MS, id_))
    assert (proxy.cuts, fate.verdict, fate.storage) == (1, "buffered", "buffered")
    accepted = [it for it in client.messages(name="paid", key=key) if it.verdict != "refused"]
    assert [(it.key, it.message_id) for it in accepted] == [(fate.key, fate.id)]


def test_message_that_is_not_kept_is_found_and_not_sent_again(
    client: Client, through: Client, proxy: CuttingProxy, key: str
) -> None:
    instance = client.create_instance("order", {"orderId": key}).process_instance_key
    proxy.cut(key.encode(), ANSWERED)
    fate = through.publish(Publication("paid", key, ttl_ms=0))
    assert (fate.verdict, fate.instances) == ("correlated", (instance,))
    assert len(list(client.messages(key=key))) == 1


def test_message_that_is_not_kept_and_not_found_is_told_as_unanswered(
    client: Client, through: Client, proxy: CuttingProxy, key: str
) -> None:
    proxy.cut(key.encode(), ARRIVES)
    with pytest.raises(NoAnswer, match="publish 'paid'"):
        through.publish(Publication("paid", key, ttl_ms=0))
    assert list(client.messages(key=key)) == []


def test_own_id_that_somebody_has_used_before_is_refused(client: Client, key: str) -> None:
    first = client.publish(Publication("paid", key, ttl_ms=HOUR_MS, id="twice"))
    with pytest.raises(AlreadyThere, match=str(first.key)) as refused:
        client.publish(Publication("paid", key, ttl_ms=HOUR_MS, id="twice"))
    assert (refused.value.reason, refused.value.status) == ("ALREADY_EXISTS", 409)


def test_many_that_were_cut_off_are_all_there_once(
    client: Client, through: Client, proxy: CuttingProxy, key: str
) -> None:
    some = [Publication("paid", key, {"number": number}, HOUR_MS) for number in range(50)]
    proxy.cut(b"/bulk", ANSWERED)
    lines = list(through.publish_many(some))
    assert [line.message.variables["number"] for line in lines] == list(range(50))
    assert {line.error for line in lines} == {""}
    there = [it.message_id for it in client.messages(key=key) if it.verdict != "refused"]
    assert sorted(there) == sorted(line.message.id for line in lines)


def test_instance_without_an_answer_is_not_created_again(
    client: Client, through: Client, proxy: CuttingProxy, key: str
) -> None:
    proxy.cut(key.encode(), ANSWERED)
    with pytest.raises(NoAnswer):
        through.create_instance("order", business_id=key)
    assert len(list(client.instances(businessId=key))) == 1


def test_completion_and_cancellation_without_an_answer_are_done(
    client: Client, through: Client, proxy: CuttingProxy, key: str
) -> None:
    client.publish(Publication("opened", key, ttl_ms=0))
    [job] = client.activate_jobs(WorkerOptions("work", wait_ms=5_000))
    proxy.cut(b"/completion", ANSWERED)
    through.complete_job(job.job_key)
    instance = client.create_instance("order", {"orderId": key}).process_instance_key
    proxy.cut(b"/cancellation", ANSWERED)
    through.cancel_instance(instance)
    assert proxy.cuts == 2
    assert [it.state for it in client.instances(processInstanceKey=str(instance))] == ["TERMINATED"]


def test_client_that_is_awaited_carries_the_same_exchange(client: Client, proxy: CuttingProxy, key: str) -> None:
    async def publish() -> int:
        async with AsyncClient(proxy.address, patience=QUICK) as there:
            return (await there.publish(Publication("paid", key, ttl_ms=HOUR_MS))).key

    proxy.cut(key.encode(), ANSWERED)
    assert asyncio.run(publish()) in [it.key for it in client.messages(key=key)]


def test_server_that_is_not_there_is_asked_again_and_then_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as left:
        port = left.getsockname()[1]
    with pytest.raises(NoAnswer, match="create 'order'") as error:
        Client(f"http://127.0.0.1:{port}", patience=QUICK).create_instance("order")
    assert error.value.retryable


def test_worker_outlives_a_server_that_is_away(
    client: Client, proxy: CuttingProxy, caplog: pytest.LogCaptureFixture
) -> None:
    client.deploy(("away.bpmn", with_job("away")))
    client.create_instance("away")
    done: list[int] = []
    proxy.cut(b"/v2/jobs/activation", ARRIVES, 7)
    with Client(proxy.address, patience=Patience(2, 0.001, 0.002)) as through:
        through.work(WorkerOptions("away", wait_ms=1_000), lambda job: done.append(job.job_key), lambda: bool(done))
    assert (len(done), proxy.cuts) == (1, 7)
    assert "retrying until the server answers" in caplog.text

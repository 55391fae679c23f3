"""An instance grows up to a bound; the request that would make it larger is refused, with nothing of it done."""

from collections.abc import Iterator

import pytest

from conjoin.errors import InstanceTooLarge
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import ActivatedJob, PublishedMessage, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run import changes
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, PAID, catch, model

ROUND_AND_ROUND = model(BEGIN + catch("paid"), "begin>paid paid>paid", PAID)
JOB = model(
    BEGIN + '<serviceTask id="job"><extensionElements><zeebe:taskDefinition type="t"/></extensionElements>'
    '</serviceTask><endEvent id="end"/>',
    "begin>job job>end",
)
MOST = 100_000


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    monkeypatch.setattr(changes, "MOST_BODY_BYTES", MOST)
    broker = temporary_broker(1)
    yield broker
    assert [it.difference for it in verify_store(broker.store) if it.difference] == []
    broker.close()


def largest(broker: Broker) -> int:
    return max(len(row.body.encode()) for row in broker.store.rows(t.INSTANCE, {}, None, 10))


def paid(number: int, key: str = "o-1", letter: str = "x") -> NewMessage:
    return NewMessage("paid", key, {f"v-{number}": letter * 20_000}, ttl_ms=0)


@pytest.mark.parametrize("letter", ["x", "ü"])
def test_messages_are_refused_once_their_instance_is_full_and_others_go_on(broker: Broker, letter: str) -> None:
    broker.deploy([("order.bpmn", ROUND_AND_ROUND)])
    broker.create_instance("order", {"orderId": "o-1"})
    broker.create_instance("order", {"orderId": "o-2"})
    refused = []
    with shard_threads(broker):
        for number in range(8):
            try:
                broker.publish(paid(number, letter=letter))
            except InstanceTooLarge as error:
                refused.append(str(error))
        assert isinstance(broker.publish(paid(0, "o-2")), PublishedMessage)
    assert len(refused) == (4 if letter == "x" else 6)
    assert "100,000 are allowed" in refused[0]
    assert largest(broker) <= MOST
    assert len(broker.store.rows(t.MESSAGE, {}, None, 99)) == 9 - len(refused)


def test_a_job_that_would_make_it_too_large_stays(broker: Broker) -> None:
    broker.deploy([("order.bpmn", JOB)])
    broker.create_instance("order", {})
    jobs = broker.activate_jobs("t", 1)
    assert not isinstance(jobs, Refusal)
    [job] = jobs
    assert isinstance(job, ActivatedJob)
    with pytest.raises(InstanceTooLarge):
        broker.complete_job(job.key, {"large": "x" * MOST})
    assert not isinstance(broker.complete_job(job.key, {}), Refusal)


def test_one_that_is_too_large_already_loads_and_may_end(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    broker.deploy([("order.bpmn", ROUND_AND_ROUND)])
    created = broker.create_instance("order", {"orderId": "o-1", "large": "x" * 50_000})
    monkeypatch.setattr(changes, "MOST_BODY_BYTES", 1_000)
    with pytest.raises(InstanceTooLarge, match=str(created.key)):  # type: ignore[union-attr]
        broker.publish(paid(1))
    assert not isinstance(broker.publish(NewMessage("paid", "o-1", {"large": ""}, ttl_ms=0)), Refusal)
    assert largest(broker) < 1_000
    assert not isinstance(broker.cancel_instance(created.key), Refusal)  # type: ignore[union-attr]

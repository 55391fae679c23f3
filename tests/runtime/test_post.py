"""Orders between shards: whatever the order in which they are delivered, a message ends as it would on one shard."""

from collections.abc import Iterator

import pytest

from benchmarks.kernel import MODEL
from conjoin.errors import OutcomeUnknown, StoreDamaged
from conjoin.kernel.process import commands as c
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.run.batches import Batch
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock

SHARDS = 3
KEY = "o-1"
HOME = shard_of(KEY, SHARDS)
ELSEWHERE = (HOME + 1) % SHARDS


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = temporary_broker(SHARDS, FakeClock())
    broker.deploy([("order.bpmn", MODEL)])
    yield broker
    broker.close()


def waiting_elsewhere(broker: Broker) -> int:
    """An instance whose subscription is on another shard."""
    command = c.CreateInstance("order", 0, "<default>", {"orderId": KEY}, 0)
    return broker.post.run(ELSEWHERE, Batch([command])).replies[0].decided[0].key


def alone(broker: Broker, shard: int, request: object) -> None:
    """Carry a request out, and leave what it sends in the outbox, as a crash would."""
    broker.post.runners[shard].run(Batch([request]), broker.catalog.view())


def verdict(broker: Broker) -> tuple[str, str, int]:
    (row,) = broker.store.rows(t.MESSAGE, {}, None, 10)
    return row.verdict, row.reason, row.live


def test_message_on_its_way_to_an_instance_that_is_cancelled_is_given_back(broker: Broker) -> None:
    instance = waiting_elsewhere(broker)
    alone(broker, HOME, NewMessage("paid", KEY, {}, 0))
    alone(broker, ELSEWHERE, c.CancelInstance(instance, 0))
    assert verdict(broker) == ("correlated", "waiting_instance", 1)
    # The home shard gets both in one run: the subscription closes, and then the answer to its message comes.
    broker.post.deliver([ELSEWHERE])
    assert verdict(broker) == ("discarded", "ttl_zero", 0)
    assert not [row for row in broker.store.rows(t.SUBSCRIPTION, {}, None, 10) if row.busy_with]


def test_message_that_is_kept_waits_for_the_next_after_it_was_given_back(broker: Broker) -> None:
    instance = waiting_elsewhere(broker)
    alone(broker, HOME, NewMessage("paid", KEY, {}, 3_600_000))
    alone(broker, ELSEWHERE, c.CancelInstance(instance, 0))
    broker.post.deliver([ELSEWHERE])
    assert verdict(broker) == ("buffered", "given_back", 1)
    waiting_elsewhere(broker)
    assert verdict(broker) == ("correlated", "given_back_and_taken", 1)


def test_order_that_lies_in_an_outbox_is_carried_out_once_by_the_next_tick(broker: Broker) -> None:
    waiting_elsewhere(broker)
    alone(broker, HOME, NewMessage("paid", KEY, {"n": 1}, 0))
    for _ in range(2):
        broker.tick()
    (row,) = broker.store.rows(t.INSTANCE, {}, None, 10)
    assert '"n":1' in row.body
    assert [row.name for row in broker.store.rows(t.SUBSCRIPTION, {"closed_at": None}, None, 10)] == ["shipped"]
    assert list(broker.store.rows(t.OUTBOX, {}, None, 10)) == []


def test_a_message_is_accepted_though_its_receiver_cannot_take_it_yet(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was committed is never told as not done: a publish is done, and of a synchronous one nobody knows."""
    waiting_elsewhere(broker)

    def fail(*given: object) -> None:
        raise StoreDamaged("shard-01.db", "malformed")

    with monkeypatch.context() as patch:
        patch.setattr(broker.post, "deliver", fail)
        published = broker.publish(NewMessage("paid", KEY, {}, 3_600_000))
        assert isinstance(published, PublishedMessage)
        with pytest.raises(OutcomeUnknown, match="it was accepted"):
            broker.correlate(NewMessage("paid", KEY, {}))
    broker.tick()
    [row] = broker.store.rows(t.MESSAGE, {"key": published.key}, None, 1)
    assert row.verdict == "correlated"

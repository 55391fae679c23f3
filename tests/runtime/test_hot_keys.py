"""A key with more live messages than are loaded with it: what is decided is the same as with all of them at hand."""

from collections.abc import Iterator

import pytest

from benchmarks.kernel import MODEL
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import PublishedMessage, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.working_set.loaded_spaces import MOST_MESSAGES
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.runtime.broker_bench import waits_on_another_shard

HOUR_MS = 3_600_000


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def broker(clock: FakeClock) -> Iterator[Broker]:
    broker = temporary_broker(1, clock)
    broker.deploy([("order.bpmn", MODEL)])
    for number in range(2 * MOST_MESSAGES):
        assert isinstance(broker.publish(NewMessage("other", "o-1", {}, HOUR_MS, f"id-{number}")), PublishedMessage)
    yield broker
    broker.close()


def test_message_behind_those_that_are_loaded_is_found_when_somebody_waits_for_it(broker: Broker) -> None:
    first = broker.publish(NewMessage("paid", "o-1", {"n": 1}, HOUR_MS))
    second = broker.publish(NewMessage("paid", "o-1", {"n": 2}, HOUR_MS))
    broker.create_instance("order", {"orderId": "o-1"})
    assert isinstance(first, PublishedMessage)
    assert isinstance(second, PublishedMessage)
    verdicts = {row.key: row.verdict for row in broker.store.rows(t.MESSAGE, {"name": "paid"}, None, 10)}
    assert verdicts == {first.key: "correlated", second.key: "buffered"}


def test_id_of_a_message_behind_those_that_are_loaded_is_refused(broker: Broker) -> None:
    answer = broker.publish(NewMessage("other", "o-1", {}, HOUR_MS, f"id-{2 * MOST_MESSAGES - 1}"))
    assert isinstance(answer, Refusal)
    assert answer.code == "ALREADY_EXISTS"


def test_all_of_them_expire(broker: Broker, clock: FakeClock) -> None:
    clock.advance_ms(HOUR_MS)
    assert broker.tick() == 2 * MOST_MESSAGES
    assert {row.verdict for row in broker.store.rows(t.MESSAGE, {}, None, 1_000)} == {"expired"}


def test_message_that_is_held_behind_those_that_are_loaded_goes_on_when_somebody_has_answered() -> None:
    bench, city = waits_on_another_shard()
    for number in range(2 * MOST_MESSAGES):
        bench.broker.publish(NewMessage("other", city, {}, HOUR_MS, f"id-{number}"))
    bench.undelivered(NewMessage("arrived", city, {}, HOUR_MS))
    held = bench.undelivered(NewMessage("arrived", city))
    assert bench.explain(held).storage == "held"
    bench.broker.tick()
    assert (bench.explain(held).verdict, bench.explain(held).reason) == ("discarded", "ttl_zero")
    assert all(it.difference is None for it in verify_store(bench.broker.store))

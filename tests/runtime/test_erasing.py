"""What a message carried is erased once it is over; its verdict stays, and the log still replays."""

from collections.abc import Iterator

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import DONE, PublishedMessage, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.upkeep.erase import erase_payload
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock

SECRET = {"iban": "DE-secret"}


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def broker(clock: FakeClock) -> Iterator[Broker]:
    broker = temporary_broker(2, clock)
    yield broker
    broker.close()


def _published(broker: Broker, ttl_ms: int) -> int:
    published = broker.publish(NewMessage("paid", "o-1", SECRET, ttl_ms))
    assert isinstance(published, PublishedMessage)
    return published.key


def test_payload_of_a_message_that_is_over_is_gone_and_its_verdict_is_kept(broker: Broker, clock: FakeClock) -> None:
    key, other = _published(broker, 1_000), _published(broker, 1_000)
    clock.advance_ms(1_000)
    broker.tick()
    before = {row.key: row for row in broker.store.rows(t.MESSAGE, {}, None, 10)}
    assert [erase_payload(broker, key), erase_payload(broker, key)] == [DONE, DONE]
    after = {row.key: row for row in broker.store.rows(t.MESSAGE, {}, None, 10)}
    assert after == {**before, key: before[key]._replace(variables="{}")}
    assert SECRET["iban"] in after[other].variables
    found = explain(broker, key)
    assert isinstance(found, Explanation)
    assert (found.verdict, found.message.variables) == ("expired", {})
    # Whoever has loaded the shard before loads it again.
    _published(broker, 0)
    assert [it.difference for it in verify_store(broker.store)] == [None, None]


def test_message_that_can_still_be_taken_keeps_what_it_carries(broker: Broker) -> None:
    key = _published(broker, 60_000)
    refused = erase_payload(broker, key)
    assert isinstance(refused, Refusal)
    assert (refused.code, "can still be taken" in refused.text) == ("INVALID_STATE", True)
    assert SECRET["iban"] in next(iter(broker.store.rows(t.MESSAGE, {"key": key}, None, 1))).variables


def test_erasing_what_is_not_known_says_so(broker: Broker) -> None:
    refused = erase_payload(broker, 7)
    assert isinstance(refused, Refusal)
    assert refused.code == "NOT_FOUND"

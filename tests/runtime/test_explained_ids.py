"""Explanations where a business id is held once: a message that waits for its id is told so, and who holds it."""

from collections.abc import Iterator
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain, explain_named
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.testing.order import ORDER

HOUR_MS = 3_600_000


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = temporary_broker(1, FakeClock(), unique_business_ids=True)
    broker.deploy([("order.bpmn", ORDER)])
    yield broker
    broker.close()


def opened(key: str, business_id: str = "b") -> NewMessage:
    return NewMessage("opened", key, {}, HOUR_MS, business_id=business_id)


def published(broker: Broker, message: NewMessage) -> int:
    answer = broker.publish(message)
    assert isinstance(answer, PublishedMessage)
    return answer.key


def explained(broker: Broker, key: int) -> Explanation:
    found: Any = explain(broker, key)
    assert isinstance(found, Explanation)
    return found


def test_message_behind_its_business_id_is_told_who_holds_it(broker: Broker) -> None:
    published(broker, opened("t-1"))
    [holder] = broker.store.rows(t.INSTANCE, {}, None, 9)
    waiting = published(broker, opened("t-2"))
    for found in (explained(broker, waiting), explain_named(broker, opened("t-3")).dry_run):
        assert (found.verdict, found.reason) == ("buffered", "locked")
        held = {"kind": "business_id_held", "process": "ticket", "instance": holder.key}
        assert found.near_misses[0] == {**held, "since_at": holder.started_at, "at": ["work"]}
        assert "would start process ticket, of which an instance with its business id 'b' is still running" in (
            found.sentence
        )
        assert found.sentence.endswith(
            f"instance {holder.key} of process ticket holds its business id since 2030-01-01T00:00:00Z, "
            "now at 'work' - it must end first."
        )
    [row] = broker.store.rows(t.MESSAGE, {"key": waiting}, None, 1)
    assert row.reason == "locked"
    assert [checked.difference for checked in verify_store(broker.store)] == [None]


def test_message_whose_id_is_free_waits_for_nobody_in_particular(broker: Broker) -> None:
    published(broker, opened("t-1"))
    nobody = published(broker, NewMessage("paid", "t-9", {}, HOUR_MS, business_id="b"))
    assert explained(broker, nobody).reason == "nobody_waits"
    waiting = published(broker, opened("t-2"))
    [holder] = broker.store.rows(t.INSTANCE, {}, None, 9)
    broker.cancel_instance(holder.key)
    assert explained(broker, waiting).verdict == "correlated"

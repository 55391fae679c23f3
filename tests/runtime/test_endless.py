"""A request whose consequences have no end is given up, and whoever asked beside it does not notice."""

import pytest

from conjoin.errors import EndlessRequest
from conjoin.runtime import shard
from conjoin.runtime.answers import PublishedMessage
from conjoin.runtime.inline import inline
from conjoin.runtime.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay import verify_store
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, PAID, catch, model

ROUND_AND_ROUND = model(BEGIN + catch("paid"), "begin>paid paid>paid", PAID)


def test_a_kept_message_that_each_round_of_a_loop_takes_again_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "MOST_STEPS", 500)
    broker = temporary_broker(1)
    broker.deploy([("order.bpmn", ROUND_AND_ROUND)])
    broker.catalog.set_policy("paid", {"cardinality": "all"}, broker.now)
    broker.create_instance("order", {"orderId": "o-1"})
    with inline(broker):
        with pytest.raises(EndlessRequest, match="no end in sight after 500 steps"):
            broker.publish(NewMessage("paid", "o-1", ttl_ms=60_000))
        assert isinstance(broker.publish(NewMessage("paid", "o-2", ttl_ms=60_000)), PublishedMessage)
    assert [row.correlation_key for row in broker.store.rows(t.MESSAGE, {}, None, 10)] == ["o-2"]
    assert all(it.difference is None for it in verify_store(broker.store))
    broker.close()

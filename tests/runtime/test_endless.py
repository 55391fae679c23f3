"""A request whose consequences have no end is given up, and whoever asked beside it does not notice."""

from itertools import count

import pytest

from conjoin.errors import EndlessRequest
from conjoin.kernel.process.rules.loops import MOST_ITEMS
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.engine import shard
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run import limits
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.run.working_set import working_set
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model

ROUND_AND_ROUND = model(BEGIN + catch("paid"), "begin>paid paid>paid", PAID)


def test_a_kept_message_that_each_round_of_a_loop_takes_again_is_refused_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shard, "MOST_STEPS", 500)
    broker = temporary_broker(1)
    broker.deploy([("order.bpmn", ROUND_AND_ROUND)])
    broker.catalog.set_policy("paid", {"cardinality": "all"}, broker.now)
    broker.create_instance("order", {"orderId": "o-1"})
    with shard_threads(broker):
        with pytest.raises(EndlessRequest, match="no end in sight after 500 steps"):
            broker.publish(NewMessage("paid", "o-1", ttl_ms=60_000))
        assert isinstance(broker.publish(NewMessage("paid", "o-2", ttl_ms=60_000)), PublishedMessage)
    assert [row.correlation_key for row in broker.store.rows(t.MESSAGE, {}, None, 10)] == ["o-2"]
    assert all(it.difference is None for it in verify_store(broker.store))
    broker.close()


_DOUBLED = (
    '<scriptTask id="double"><extensionElements><zeebe:script expression="=item * 2" resultVariable="doubled" />'
    '</extensionElements><multiInstanceLoopCharacteristics isSequential="{sequential}"><extensionElements>'
    '<zeebe:loopCharacteristics inputCollection="=items" inputElement="item" outputCollection="results"'
    ' outputElement="=doubled" /></extensionElements></multiInstanceLoopCharacteristics></scriptTask>'
)


@pytest.mark.parametrize("sequential", ["false", "true"])
def test_results_of_the_largest_multi_instance_are_no_endless_work(sequential: str) -> None:
    """The list that is collected is not written anew with each of its items."""
    broker = temporary_broker(1)
    content = model(BEGIN + _DOUBLED.format(sequential=sequential) + END, "begin>double double>end")
    assert isinstance(broker.deploy([("order.bpmn", content)]), Deployment)
    created = broker.create_instance("order", {"items": list(range(MOST_ITEMS))})
    assert isinstance(created, CreatedInstance)
    [row] = broker.store.rows(t.INSTANCE, {}, None, 10)
    assert row.state == "completed"
    assert read_json(row.body)[3]["results"] == [2 * number for number in range(MOST_ITEMS)]
    assert all(it.difference is None for it in verify_store(broker.store))
    broker.close()


def test_few_steps_that_take_long_are_given_up_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only after many steps: each of these is long."""
    seconds = count(0.0, 2.0)
    monkeypatch.setattr(limits, "thread_time", lambda: next(seconds))
    monkeypatch.setattr(working_set, "monotonic", lambda: next(seconds))
    broker = temporary_broker(1)
    broker.deploy([("order.bpmn", model(BEGIN + catch("paid"), "begin>paid", PAID))])
    with shard_threads(broker), pytest.raises(EndlessRequest, match="5 seconds of work"):
        broker.create_instance("order", {"orderId": "o-1"})
    broker.close()

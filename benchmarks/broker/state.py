"""A store with very many open instances, loaded in bulk: each waits for the message `paid` with a key of its own.

One instance is made by the broker itself; the others are its rows with other keys. So what is measured is what the
broker would have written.
"""

from collections.abc import Iterator
from typing import NamedTuple

from benchmarks.kernel import MODEL
from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import now_us, open_broker, temporary_broker
from conjoin.store import tables as t
from conjoin.store.opening import create_store
from conjoin.store.port import Facts, Head
from conjoin.store.rows import InstanceRow, MessageRow
from conjoin.store.schema import VERSION

_KEYS_EACH = 5
_SAMPLE = "order-sample"
_HOUR_MS = 3_600_000


def key_of(number: int) -> str:
    return f"order-{number:08}"


def paid(number: int, ttl_ms: int = 0, message_id: str = "") -> NewMessage:
    return NewMessage("paid", key_of(number), {"amount": 100.5, "paid": True}, ttl_ms, message_id)


class Sample(NamedTuple):
    """What the broker writes for one waiting instance, and for one message that nobody takes."""

    instance: InstanceRow
    message: MessageRow


def sample() -> Sample:
    broker = temporary_broker(1)
    assert isinstance(broker.deploy([("order.bpmn", MODEL)]), Deployment)
    variables = {"orderId": _SAMPLE, "customer": "c1"}
    assert isinstance(broker.create_instance("order", variables), CreatedInstance)
    assert isinstance(broker.publish(NewMessage("early", _SAMPLE, {"n": 1}, _HOUR_MS)), PublishedMessage)
    found = [next(iter(broker.store.rows(table, {}, None, 1))) for table in (t.INSTANCE, t.MESSAGE)]
    broker.close()
    return Sample(*found)


def make(address: str, shards: int, instances: int, due: int = 0) -> Broker:
    """A new store with so many open instances, and so many messages whose time is over; `order` is deployed."""
    store = create_store(address, Facts(shards, "zeebe", VERSION, False))
    one = sample()
    for index in range(shards):
        numbers = [number for number in range(instances) if shard_of(key_of(number), shards) == index]
        counter = (len(numbers) + due) * _KEYS_EACH + 10
        rows = {
            t.INSTANCE: _instances(one, index, numbers),
            t.MESSAGE: _messages(one, index, len(numbers), due // shards),
        }
        store.shard(index).load(Head(1, counter, now_us(), 0), rows)
    store.close()
    broker = open_broker(address)
    assert isinstance(broker.deploy([("order.bpmn", MODEL)]), Deployment)
    return broker


def _first_key(shard: int, place: int) -> int:
    return (shard + 1) << COUNTER_BITS | place * _KEYS_EACH + 1


def _instances(one: Sample, shard: int, numbers: list[int]) -> Iterator[InstanceRow]:
    """Each with its subscription in its own row, as the broker writes it."""
    for place, number in enumerate(numbers):
        yield waiting_instance(one, _first_key(shard, place), key_of(number))


def waiting_instance(one: Sample, key: int, correlation_key: str) -> InstanceRow:
    row = one.instance
    body = row.body
    others = ((row.key, key), (row.wait_element_key, key + 2), (row.wait_key, key + 3), (_SAMPLE, correlation_key))
    for part, other in others:
        body = body.replace(str(part), str(other))
    return row._replace(
        key=key, tree_key=key, body=body, wait_on=correlation_key, wait_key=key + 3, wait_element_key=key + 2
    )


def _messages(one: Sample, shard: int, after: int, count: int) -> Iterator[MessageRow]:
    """Long over, each on a key where somebody waits for something else."""
    over = one.message.published_at - 1
    for number in range(count):
        key = _first_key(shard, after + number)
        yield one.message._replace(key=key, correlation_key=f"early-{number}", deadline=over, due_at=over)

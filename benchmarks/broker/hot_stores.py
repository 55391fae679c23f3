"""Stores with a crowd each: what the section "hot" publishes into, and what it publishes there."""

from collections.abc import Callable, Iterator
from itertools import chain
from typing import Any, NamedTuple

from benchmarks.broker.state import _HOUR_MS, Sample, key_of, make, paid, sample, waiting_instance
from benchmarks.kernel import MODEL
from conjoin.kernel.process import commands as c
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, Deployment
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.instance_waits import FIRST, NOTHING, open_wait, subscription_row
from conjoin.runtime.codec.key_spaces import in_crowd
from conjoin.runtime.opening import now_us, open_broker
from conjoin.store import tables as t
from conjoin.store.opening import create_store
from conjoin.store.port import Changes, Facts, Head
from conjoin.store.rows import InstanceRow, SubscriptionRow
from conjoin.store.schema import VERSION

HOT = "hot"
OTHERS = 2_000
"""So many instances wait beside the crowd, each on a key of its own: for the unrelated publishes."""
_BPMN = 'xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"'
WIDE = f"""<definitions {_BPMN} targetNamespace="t"><message id="m" name="part"><extensionElements>
<zeebe:subscription correlationKey="=k"/></extensionElements></message><process id="wide" isExecutable="true">
<startEvent id="s"/><receiveTask id="r" messageRef="m"><multiInstanceLoopCharacteristics><extensionElements>
<zeebe:loopCharacteristics inputCollection="=list" inputElement="n"/></extensionElements>
</multiInstanceLoopCharacteristics></receiveTask><endEvent id="e"/><sequenceFlow id="f1" sourceRef="s" targetRef="r"/>
<sequenceFlow id="f2" sourceRef="r" targetRef="e"/></process></definitions>""".encode()
FAMILY = f"""<definitions {_BPMN} targetNamespace="t"><message id="m" name="child"><extensionElements>
<zeebe:subscription correlationKey="=k"/></extensionElements></message><process id="child" isExecutable="true">
<startEvent id="s"/><receiveTask id="r" messageRef="m"/><endEvent id="e"/><sequenceFlow id="f1" sourceRef="s"
targetRef="r"/><sequenceFlow id="f2" sourceRef="r" targetRef="e"/></process><process id="root" isExecutable="true">
<startEvent id="s2"/><callActivity id="c"><extensionElements><zeebe:calledElement processId="child"
propagateAllChildVariables="false"/></extensionElements><multiInstanceLoopCharacteristics><extensionElements>
<zeebe:loopCharacteristics inputCollection="=list" inputElement="k"/></extensionElements>
</multiInstanceLoopCharacteristics></callActivity><endEvent id="e2"/><sequenceFlow id="f3" sourceRef="s2"
targetRef="c"/><sequenceFlow id="f4" sourceRef="c" targetRef="e2"/></process></definitions>""".encode()
STEADY = FAMILY.replace(
    b'<sequenceFlow id="f2" sourceRef="r" targetRef="e"/>', b'<sequenceFlow id="f2" sourceRef="r" targetRef="r"/>'
)
"""Its children wait for the next message after each."""

Ask = Callable[[int], Any]


class Crowd(NamedTuple):
    """A store, and the request that is hot there."""

    broker: Broker
    ask: Ask


def waiting(address: str, count: int) -> Crowd:
    """Instances that all wait on one key for the same message; each publish reaches one of them."""
    return Crowd(_with_rows(address, count), lambda n: NewMessage("paid", HOT, {"paid": True}, 0))


def waiting_for_others(address: str, count: int) -> Crowd:
    """The same, and the message has another name."""
    return Crowd(_with_rows(address, count), lambda n: NewMessage("other", HOT, {}, 0))


def kept(address: str, count: int) -> Crowd:
    return Crowd(_with_rows(address, 0, count), lambda n: NewMessage("early", HOT, {}, _HOUR_MS))


def ended_children(address: str, count: int) -> Crowd:
    broker = _family(make(address, 1, OTHERS), 50, STEADY)
    root = next(row for row in broker.store.rows(t.INSTANCE, {"process_id": "root"}, None, 1))
    child = next(row for row in broker.store.rows(t.INSTANCE, {"process_id": "child"}, None, 1))
    # What has ended waits for nothing any more.
    ended = InstanceRow(*child[:FIRST], *NOTHING)._replace(state="completed", ended_at=now_us(), tree_key=root.key)
    _put(broker, t.INSTANCE, (ended._replace(key=10**6 + n) for n in range(count)))
    return Crowd(broker, lambda n: NewMessage("child", f"k-{n % 50}", {}, 0))


def active_children(address: str, count: int) -> Crowd:
    return Crowd(_family(make(address, 1, OTHERS), count), lambda n: NewMessage("child", f"k-{n}", {}, 0))


def unknown_keys(address: str, count: int) -> Crowd:
    """SetVariables with a key that is no element's, in a store with very many instances."""
    broker = make(address, 1, count + OTHERS)
    created = broker.create_instance("order", {"orderId": "gone"})
    assert isinstance(created, CreatedInstance)
    broker.cancel_instance(created.key)
    return Crowd(broker, lambda n: c.SetVariables(created.key, {"n": n}, 0))


def instances(address: str, count: int) -> Crowd:
    """Nobody of them has to do with the publishes, all of which are alike."""
    return Crowd(make(address, 1, count + OTHERS), lambda n: paid(OTHERS + n))


def one_instance(address: str, count: int) -> Crowd:
    """It waits very often on one key, and has a variable of a megabyte."""
    broker = make(address, 1, OTHERS)
    assert isinstance(broker.deploy([("wide.bpmn", WIDE)]), Deployment)
    variables = {"k": HOT, "list": list(range(count)), "large": "x" * 1_000_000}
    assert isinstance(broker.create_instance("wide", variables), CreatedInstance)
    return Crowd(broker, lambda n: NewMessage("unheard", HOT, {}, 0))


def _family(broker: Broker, count: int, model: bytes = FAMILY) -> Broker:
    assert isinstance(broker.deploy([("family.bpmn", model)]), Deployment)
    assert isinstance(broker.create_instance("root", {"list": [f"k-{n}" for n in range(count)]}), CreatedInstance)
    return broker


def _with_rows(address: str, waiting: int, kept: int = 0) -> Broker:
    """`make`'s instances, and the crowd on one key, loaded in bulk."""
    store = create_store(address, Facts(1, "zeebe", VERSION, False))
    one = sample()
    rows = {
        t.INSTANCE: chain(_others(one), (row for row, _ in _crowd(one, waiting))),
        t.APART: (row for _, row in _crowd(one, waiting)),
        t.MESSAGE: _kept(one, waiting + OTHERS, kept),
    }
    store.shard(0).load(Head(1, (waiting + OTHERS + kept) * 5 + 10, now_us(), 0), rows)
    store.close()
    broker = open_broker(address)
    assert isinstance(broker.deploy([("order.bpmn", MODEL)]), Deployment)
    return broker


def _others(one: Sample) -> Iterator[InstanceRow]:
    return (waiting_instance(one, 1 << 51 | number * 5 + 1, key_of(number)) for number in range(OTHERS))


def _crowd(one: Sample, count: int) -> Iterator[tuple[InstanceRow, SubscriptionRow]]:
    """Where very many wait on one key, their subscriptions stand apart."""
    for number in range(OTHERS, OTHERS + count):
        row = waiting_instance(one, 1 << 51 | number * 5 + 1, HOT)
        its = open_wait(row)
        yield InstanceRow(*row[:FIRST]), in_crowd(subscription_row((row.tenant_id, HOT), its, None))


def _kept(one: Sample, after: int, count: int) -> Iterator[Any]:
    until = now_us() + _HOUR_MS * 24_000
    for number in range(after, after + count):
        yield one.message._replace(
            key=1 << 51 | number * 5 + 1, correlation_key=HOT, published_at=now_us(), deadline=until, due_at=until
        )


def _put(broker: Broker, table: t.Table, rows: Iterator[Any]) -> None:
    snapshot = broker.store.shard(0).begin()
    head = snapshot.head
    assert snapshot.commit(Changes(head._replace(version=head.version + 1), {table: list(rows)}))


STORES: dict[str, tuple[Callable[[str, int], Crowd], int]] = {
    "20,000 wait on one key for one message": (waiting, 20_000),
    "20,000 wait on one key for another name": (waiting_for_others, 20_000),
    "100,000 kept messages on one key": (kept, 100_000),
    "a root with 100,000 ended children": (ended_children, 100_000),
    "a root with 2,000 active children": (active_children, 2_000),
    "300,000 instances, SetVariables with an unknown key": (unknown_keys, 300_000),
    "300,000 instances": (instances, 300_000),
    "an instance that waits 1,000 times, with 1 MB": (one_instance, 1_000),
}

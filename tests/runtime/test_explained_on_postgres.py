"""Explanations on PostgreSQL: the same near misses as on SQLite, from the same kinds of look-ups."""

from collections.abc import Iterator
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.explain.explain import explain
from conjoin.runtime.explain.explanation import Explanation
from conjoin.runtime.opening import temporary_postgres_broker
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, catch, message, model, service

CONTENT = model(
    BEGIN + catch("paid") + service("work") + catch("shipped", "shipped_message"),
    "begin>paid paid>work work>shipped",
    message("paid_message", "paid", "=orderId") + message("shipped_message", "shipped", "=orderId"),
)

WORK = model(
    BEGIN + service("work") + catch("packed"), "begin>work work>packed", message("paid_message", "packed", "=orderId")
).replace(b'<process id="order"', b'<process id="work_process"')


@pytest.fixture(params=[1, 3])
def broker(request: pytest.FixtureRequest, postgres_server: Any) -> Iterator[Broker]:
    broker = temporary_postgres_broker(postgres_server.url("postgres"), request.param, FakeClock())
    broker.deploy([("order.bpmn", CONTENT)])
    yield broker
    broker.close()


def started(broker: Broker, key: str) -> int:
    created = broker.create_instance("order", {"orderId": key})
    assert isinstance(created, CreatedInstance)
    return created.key


def explained(broker: Broker, name: str, key: str) -> Explanation:
    published = broker.publish(NewMessage(name, key, {}, 0))
    assert isinstance(published, PublishedMessage)
    found = explain(broker, published.key)
    assert isinstance(found, Explanation)
    return found


@pytest.mark.parametrize(
    ("waits", "sent", "differs"),
    [
        ("order-7", "ORDER-7", "case or blanks only"),
        ("order-0007", "order-7", "number"),
        ("anna.schmidt@example.com", "anna.schmitd@example.com", "two letters"),
        ("6f8fc2d0-1497-4df5-92b0-e90c950287e4", "6f8fc2d014974df592b0e90c950287e4", "punctuation only"),
        # No index holds a text as long as this one.
        ("x" * 3_000 + "-7", "X" * 3_000 + "-7", "case or blanks only"),
    ],
)
def test_a_key_with_a_slip_is_found(broker: Broker, waits: str, sent: str, differs: str) -> None:
    for number in range(30):
        started(broker, f"other-{number}")
    order = started(broker, waits)
    [miss] = explained(broker, "paid", sent).near_misses
    assert (miss["kind"], miss["instance"], miss["differs"]) == ("other_key", order, differs)


def test_who_will_wait_is_found_by_its_variables_and_nobody_else(broker: Broker) -> None:
    order = started(broker, "order-7")
    broker.publish(NewMessage("paid", "order-7", {}, 0))
    [miss] = explained(broker, "shipped", "order-7").near_misses
    assert (miss["kind"], miss["instance"], miss["at"]) == ("too_early", order, "work")
    far = explained(broker, "shipped", "order-8")
    assert far.near_misses == []
    assert far.nobody is not None
    assert far.nobody.newest


def test_who_has_the_key_as_a_text_is_found_among_many_with_its_number(broker: Broker) -> None:
    broker.deploy([("work.bpmn", WORK)])
    keys = []
    for number in range(60):
        created = broker.create_instance("work_process", {"orderId": f"order-{number}", "total": 4_200 + number})
        assert isinstance(created, CreatedInstance)
        keys.append(created.key)
    [miss] = explained(broker, "packed", "order-42").near_misses
    assert (miss["kind"], miss["instance"]) == ("too_early", keys[42])

"""What PostgreSQL cannot take of one item is that item's matter: it is refused or set aside, and the others go on."""

from collections.abc import Iterator
from random import Random
from typing import Any

import psycopg
import pytest

from conjoin.errors import StoreFailed
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.opening import create_broker
from conjoin.runtime.run.isolation import is_worlds
from conjoin.store import tables as t
from conjoin.store.postgres.connections import translated_errors
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model

WAIT = (
    '<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT1S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>"
)
TOO_LONG = "".join(map(chr, Random(7).choices(range(0x10000, 0x110000), k=2_000)))


@pytest.fixture
def url(postgres_server: Any) -> Iterator[str]:
    url = postgres_server.new_database()
    yield url
    postgres_server.drop_database(url)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def broker(url: str, clock: FakeClock) -> Iterator[Broker]:
    """One whose store has an index that holds no long key, as an administrator may have made it."""
    broker = create_broker(url, 1, clock=clock)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("create index narrow on shard_00.instance (wait_on)")
    broker.deploy([("order.bpmn", model(BEGIN + WAIT + catch("paid") + END, "begin>wait wait>paid paid>end", PAID))])
    yield broker
    broker.close()


def test_a_timer_whose_item_does_not_fit_is_set_aside_and_the_others_fire(broker: Broker, clock: FakeClock) -> None:
    keys = ["a", TOO_LONG, "b"]
    created = [broker.create_instance("order", {"orderId": key}) for key in keys]
    assert all(isinstance(it, CreatedInstance) for it in created)
    clock.advance_ms(2_000)
    broker.tick()
    waiting = {row.correlation_key for row in broker.store.rows(t.SUBSCRIPTION, {}, None, 9)}
    assert waiting == {"a", "b"}
    [aside] = broker.store.rows(t.SET_ASIDE, {}, None, 9)
    assert aside.instance_key == created[1].key  # type: ignore[union-attr]
    assert "index row" in aside.reason


@pytest.mark.parametrize(
    ("code", "of_the_world"),
    [("54000", False), ("54001", False), ("22001", False), ("22P05", False), ("23505", False)]
    + [(code, True) for code in ("53100", "57P01", "40001", "XX000", "58030")],
)
def test_the_class_of_a_code_tells_whose_matter_it_is(url: str, code: str, of_the_world: bool) -> None:
    asked = f"do $$ begin raise exception 'as asked' using errcode = '{code}'; end $$"
    with (
        psycopg.connect(url, autocommit=True) as connection,
        pytest.raises(Exception) as raised,  # noqa: PT011 - of either kind
        translated_errors("here"),
    ):
        connection.execute(asked)
    assert is_worlds(raised.value) == of_the_world
    assert isinstance(raised.value, StoreFailed) == of_the_world

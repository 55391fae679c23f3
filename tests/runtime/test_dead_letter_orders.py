"""A dead letter becomes one message, however often and from how many sides it is retried, on any shard; or none."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import DONE, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.opening import create_broker, temporary_broker
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.run.dead_letter_orders import EndDeadLetter

SHARDS = 3


@pytest.fixture(params=["sqlite", "postgres"])
def broker(request: pytest.FixtureRequest) -> Iterator[Broker]:
    if request.param == "sqlite":
        with closing(temporary_broker(SHARDS)) as made:
            yield made
        return
    server = request.getfixturevalue("postgres_server")
    url = server.new_database()
    with closing(create_broker(url, SHARDS)) as made:
        yield made
    server.drop_database(url)


def kept(broker: Broker, shard: int = 0) -> int:
    return broker.ask(shard, DeadLetter("payments", "file", 3, "missing_name", "has no name", b"{}")).key


def key_on(shard: int) -> str:
    return next(key for key in map(str, range(1_000)) if shard_of(key, SHARDS) == shard)


def names(broker: Broker, what: str = "messages") -> list[Any]:
    return list(list_page(broker, what, ListQuery()).items)


@pytest.mark.parametrize("shard", range(SHARDS))
def test_letter_becomes_one_message_wherever_its_key_is_at_home(broker: Broker, shard: int) -> None:
    letter, message = kept(broker), NewMessage("paid", key_on(shard), {"amount": 7}, 3_600_000)
    assert broker.end_dead_letter(letter, message) == DONE
    again = broker.end_dead_letter(letter, message)
    assert isinstance(again, Refusal)
    assert "any more" in again.text
    [found] = names(broker)
    assert (found.name, found.correlation_key, found.verdict) == ("paid", key_on(shard), "buffered")
    assert names(broker, "dead-letters") == []
    assert [it.difference for it in verify_store(broker.store)] == [None] * SHARDS


def test_letter_that_is_retried_from_many_sides_at_once_becomes_one_message(broker: Broker) -> None:
    letter = kept(broker)
    with shard_threads(broker), ThreadPoolExecutor(8) as pool:
        keys = [key_on(number % SHARDS) for number in range(24)]
        answers = list(pool.map(lambda key: broker.end_dead_letter(letter, NewMessage("paid", key, {}, 10**6)), keys))
        broker.tick()
    assert answers.count(DONE) == 1
    assert len(names(broker)) == 1


def test_two_orders_of_one_batch_are_one(broker: Broker) -> None:
    letter = kept(broker)
    message = NewMessage("paid", key_on(0), {}, 10**6)
    broker.post.run(0, Batch([EndDeadLetter(letter, message), EndDeadLetter(letter, message)]))
    assert len(names(broker)) == 1


def test_letter_is_deleted_and_what_cannot_be_a_message_leaves_it(broker: Broker) -> None:
    letter = kept(broker, 1)
    refused = broker.end_dead_letter(letter, NewMessage(" ", "k"))
    assert isinstance(refused, Refusal)
    assert len(names(broker, "dead-letters")) == 1
    assert broker.end_dead_letter(letter) == DONE
    assert (names(broker, "dead-letters"), names(broker)) == ([], [])
    assert isinstance(broker.end_dead_letter(17), Refusal)

"""What a batch names is read in bulk: a hundred requests of a kind cost no more statements than two of them."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, partialmethod
from typing import Any

import pytest

from benchmarks.broker.requests import MODEL as WORK
from benchmarks.kernel import MODEL as ORDER
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.events import CommandRefused
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.run.batches import Batch
from conjoin.store.opening import create_store
from conjoin.store.port import Facts
from conjoin.store.postgres import shard as postgres
from conjoin.store.postgres.shard import PostgresSnapshot
from conjoin.store.sqlite.shard import SqliteShard
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, catch, message, model, service
from tests.runtime.broker_bench import JOURNEY, Bench

Requests = Callable[[Broker, int], list[object]]


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = temporary_broker(1, FakeClock())
    yield deployed(broker)
    broker.close()


def deployed(broker: Broker) -> Broker:
    broker.deploy([("order.bpmn", ORDER), ("work.bpmn", WORK)])
    return broker


def orders(broker: Broker, count: int) -> list[int]:
    """The keys of instances that wait for a message."""
    made = [broker.create_instance("order", {"orderId": f"o-{broker.now}-{number}"}) for number in range(count)]
    return [it.key for it in made if isinstance(it, CreatedInstance)]


def completions(broker: Broker, count: int) -> list[object]:
    for number in range(count):
        broker.create_instance("work", {"n": number})
    jobs = broker.activate_jobs("pack", count)
    assert isinstance(jobs, list)
    return [c.CompleteJob(job.key, {"packed": True}, 0) for job in jobs]


def messages(broker: Broker, count: int) -> list[object]:
    orders(broker, count)
    return [NewMessage("paid", f"o-{broker.now}-{number}") for number in range(count)]


KINDS: dict[str, Requests] = {
    "messages": messages,
    "jobs": completions,
    "creations": lambda _, count: [
        c.CreateInstance("order", 0, "<default>", {"orderId": f"new-{count}-{number}"}, 0) for number in range(count)
    ],
    "cancellations": lambda broker, count: [c.CancelInstance(key, 0) for key in orders(broker, count)],
    "variables": lambda broker, count: [c.SetVariables(key, {"a": 1}, 0) for key in orders(broker, count)],
}


@contextmanager
def statements(broker: Broker) -> Iterator[list[str]]:
    """The statements of a shard on SQLite that read."""
    shard = broker.post.runners[0].store
    assert isinstance(shard, SqliteShard)
    shard.begin().abandon()
    connection: Any = shard._connection
    assert isinstance(connection, sqlite3.Connection)
    found: list[str] = []
    connection.set_trace_callback(lambda text: found.append(text) if text.startswith("select") else None)
    yield found
    connection.set_trace_callback(None)


@pytest.mark.parametrize("kind", KINDS)
def test_many_requests_of_a_kind_are_read_as_few_are(broker: Broker, kind: str) -> None:
    counts = []
    for count in (2, 100):
        requests = KINDS[kind](broker, count)
        assert len(requests) == count
        with statements(broker) as read:
            done = broker.post.run(0, Batch(requests))
        assert not any(isinstance(it, CommandRefused) for reply in done.replies for it in reply.decided)
        counts.append(len(read))
    assert counts[1] == counts[0], read


def test_mail_is_read_in_bulk() -> None:
    """What a city says that is awaited on one shard while its instances live on another."""
    counts = []
    for count in (2, 100):
        bench = waiting_for_mail(count)
        mail = bench.broker.post._mailboxes[0].collect()
        assert len(mail) == count
        with statements(bench.broker) as read:
            done = bench.broker.post.run(0, Batch(deliveries=mail))
        assert done.committed
        counts.append(len(read))
    assert counts[1] == counts[0], read


def wide(waits: int) -> bytes:
    """A task beside so many elements that wait, each on a key of its own."""
    waiting = [f"c{number}" for number in range(waits)]
    return model(
        BEGIN + '<parallelGateway id="fork"/>' + service("pack") + "".join(catch(it, f"m_{it}") for it in waiting),
        " ".join(["begin>fork", "fork>pack", *(f"fork>{it}" for it in waiting)]),
        "".join(message(f"m_{it}", it, f"=&quot;{it}&quot;") for it in waiting),
    )


@pytest.mark.parametrize("command", [c.CompleteJob, c.UpdateRetries])
def test_what_an_instance_waits_for_beside_its_work_is_read_only_if_that_is_little_and_may_end(
    broker: Broker, command: type
) -> None:
    read = []
    for waits in (2, 50):
        broker.deploy([("wide.bpmn", wide(waits))])
        broker.create_instance("order", {})
        jobs = broker.activate_jobs("pack", 1)
        assert isinstance(jobs, list)
        given = {} if command is c.CompleteJob else 3
        with statements(broker) as asked:
            done = broker.post.run(0, Batch([command(jobs[0].key, given, 0)]))
        assert not any(isinstance(it, CommandRefused) for it in done.replies[0].decided)
        read.append(sum("many" in text and "correlation_key" in text for text in asked))
    assert read[1] == 0
    assert bool(read[0]) is (command is c.CompleteJob)


@pytest.mark.parametrize("kind", KINDS)
def test_on_postgresql_a_run_takes_three_trips(
    postgres_server: Any, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    url = postgres_server.new_database()
    broker = deployed(Broker(create_store(url, Facts(1, "zeebe", 0, False)), FakeClock()))
    broker.post.run(0, Batch(KINDS[kind](broker, 2)))
    requests = KINDS[kind](broker, 50)
    asked: list[str] = []
    for name in ("_ask_for_keys", "_ask_for_instances"):
        monkeypatch.setattr(postgres, name, partial(_noted, asked, name, getattr(postgres, name)))
    monkeypatch.setattr(PostgresSnapshot, "_execute", partialmethod(_refused))
    done = broker.post.run(0, Batch(requests))
    assert len(done.replies) == len(requests)
    # While the snapshot begins, and perhaps once more: on which keys those wait that were found.
    assert len(asked) == len(set(asked)) <= 2
    broker.close()
    postgres_server.drop_database(url)


def _noted(asked: list[str], name: str, ask: Callable[..., Any], *given: Any) -> Any:
    asked.append(name)
    return ask(*given)


def _refused(_: PostgresSnapshot, statement: str, parameters: object) -> Any:
    raise AssertionError(f"a trip of its own: {statement}")


def waiting_for_mail(count: int) -> Bench:
    """Instances on shard 0, for which so many orders lie in the outbox of shard 1."""
    bench = Bench(shards=2)
    bench.deploy(JOURNEY)
    cities = [key for key in (f"city-{number}" for number in range(1_000)) if shard_of(key, 2) == 1][:count]
    trains = [key for key in (f"train-{number}" for number in range(1_000)) if shard_of(key, 2) == 0][:count]
    for train, city in zip(trains, cities, strict=True):
        bench.start("journey", {"train": train, "city": city})
        bench.publish("left", train)
    for city in cities:
        bench.undelivered(NewMessage("arrived", city))
    return bench

"""What cannot be carried out is set aside, and the rest of its shard goes on; an operator retries it or deletes it."""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

from conjoin.errors import EndlessRequest
from conjoin.kernel.process import commands as c
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import create_broker, temporary_broker
from conjoin.runtime.reading.lists import ListQuery, list_page
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.run.set_aside import NO_EFFECT
from conjoin.runtime.run.working_set import working_set
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.runtime.upkeep.sweeper import Sweeper
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.bpmn.snippets import BEGIN, PAID, catch, model

TIMER = (
    BEGIN + '<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT1S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>"
    '<endEvent id="end"/>'
)
TIMERS = model(TIMER, "begin>wait wait>end")


class Poison:
    """Orders about these instances cannot be carried out."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.keys: set[int] = set()
        self.error: Exception = OverflowError("too large for the store")
        self.struck = 0
        for kind in (c.FireTimers, c.DeliverMessage):
            fetch = partial(self._fetch, working_set._FETCH.get(kind))
            monkeypatch.setitem(working_set._FETCH, kind, fetch)

    def _fetch(self, real: Callable[[WorkingSet, Any], None] | None, its: WorkingSet, command: Any) -> None:
        """What every order does before it is carried out."""
        if self._instance(its, command) in self.keys:
            self.struck += 1
            raise self.error
        if real is not None:
            real(its, command)

    def _instance(self, its: WorkingSet, command: Any) -> int:
        if type(command) is c.FireTimers:
            timer = its.state.timers.get(command.key)
            owner = its.state.elements.get(timer.owner_key) if timer else None
            return owner.instance.key if owner else 0
        return command.subscription.instance_id if type(command) is c.DeliverMessage else 0


@pytest.fixture
def poison(monkeypatch: pytest.MonkeyPatch) -> Poison:
    return Poison(monkeypatch)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def broker(clock: FakeClock) -> Iterator[Broker]:
    broker = temporary_broker(2, clock)
    yield broker
    broker.close()


def created(broker: Broker, variables: dict[str, Any] | None = None) -> int:
    answer = broker.create_instance("order", variables or {})
    assert isinstance(answer, CreatedInstance)
    return answer.key


def active(broker: Broker) -> list[int]:
    return [row.key for row in broker.store.rows(t.INSTANCE, {"state": "active"}, None, 100)]


def listed(broker: Broker) -> list[Any]:
    return list(list_page(broker, "set-aside", ListQuery({"state": "waiting"}, None, None, 50, None)).items)


def check(broker: Broker) -> None:
    assert [it.difference for it in verify_store(broker.store) if it.difference] == []


def by_tick(broker: Broker) -> None:
    broker.tick()


def by_sweeper(broker: Broker) -> None:
    """In threads, as a server does it."""
    with shard_threads(broker) as runner:
        sweeper = Sweeper(broker, runner, every_s=0.01)
        sweeper.start()
        try:
            until = monotonic() + 30
            while len(active(broker)) > 1 or not listed(broker):
                assert monotonic() < until
                sleep(0.01)
            assert all(job.report().state == "ok" for job in broker.supervisor.jobs.values())
            assert sum(broker.supervisor.set_aside.values()) <= 1
        finally:
            sweeper.stop()


@pytest.mark.parametrize("sweep", [by_tick, by_sweeper])
def test_a_timer_that_cannot_fire_is_set_aside_and_the_others_fire(
    broker: Broker, clock: FakeClock, poison: Poison, sweep: Callable[[Broker], None]
) -> None:
    broker.deploy([("order.bpmn", TIMERS)])
    keys = [created(broker) for _ in range(9)]
    poison.keys = {keys[4]}
    clock.advance_ms(2_000)
    sweep(broker)
    assert active(broker) == [keys[4]]
    [item] = listed(broker)
    assert (item.kind, item.instance_key, item.reason) == ("timer", keys[4], "OverflowError: too large for the store")
    check(broker)
    assert isinstance(broker.retry_set_aside(item.key), Refusal)
    assert listed(broker)[0].attempts == item.attempts + 1
    poison.keys.clear()
    assert not isinstance(broker.retry_set_aside(item.key), Refusal)
    assert (active(broker), listed(broker)) == ([], [])
    check(broker)


def test_what_is_set_aside_is_retried_by_itself_a_few_times(broker: Broker, clock: FakeClock, poison: Poison) -> None:
    broker.deploy([("order.bpmn", TIMERS)])
    poison.keys = {created(broker)}
    clock.advance_ms(2_000)
    for _ in range(20):
        broker.tick()
        clock.advance_ms(60_000)
    [item] = listed(broker)
    assert (item.attempts, item.next_try_at) == (5, None)
    struck = poison.struck
    broker.tick()
    assert poison.struck == struck
    check(broker)


def test_a_trouble_that_passes_leaves_nothing_set_aside(broker: Broker, clock: FakeClock, poison: Poison) -> None:
    broker.deploy([("order.bpmn", TIMERS)])
    poison.keys = {created(broker)}
    clock.advance_ms(2_000)
    broker.tick()
    assert len(listed(broker)) == 1
    poison.keys.clear()
    clock.advance_ms(2_000)
    broker.tick()
    assert (active(broker), listed(broker)) == ([], [])
    check(broker)


def test_what_has_no_end_is_carried_out_once_and_set_aside(broker: Broker, clock: FakeClock, poison: Poison) -> None:
    broker.deploy([("order.bpmn", TIMERS)])
    keys = [created(broker) for _ in range(4)]
    poison.keys, poison.error = {keys[1]}, EndlessRequest(500)
    clock.advance_ms(2_000)
    for _ in range(5):
        broker.tick()
        clock.advance_ms(60_000)
    assert poison.struck == 1
    assert active(broker) == [keys[1]]
    check(broker)


def test_a_deleted_item_does_not_come_back(broker: Broker, clock: FakeClock, poison: Poison) -> None:
    broker.deploy([("order.bpmn", TIMERS)])
    poison.keys = {created(broker)}
    clock.advance_ms(2_000)
    broker.tick()
    [item] = listed(broker)
    broker.delete_set_aside(item.key)
    struck = poison.struck
    clock.advance_ms(600_000)
    broker.tick()
    assert (listed(broker), poison.struck) == ([], struck)
    answer = broker.retry_set_aside(item.key)
    assert isinstance(answer, Refusal)
    assert answer.code == "NOT_FOUND"
    check(broker)


@contextmanager
def carried(broker: Broker, by_threads: bool) -> Iterator[None]:
    if by_threads:
        with shard_threads(broker) as runner:
            yield
            runner.deliver()
    else:
        yield


@pytest.mark.parametrize("by_threads", [False, True])
def test_mail_that_cannot_be_taken_is_set_aside_and_what_is_behind_it_arrives(
    broker: Broker, clock: FakeClock, poison: Poison, by_threads: bool
) -> None:
    late = model(
        BEGIN + '<serviceTask id="job"><extensionElements><zeebe:taskDefinition type="t"/></extensionElements>'
        "</serviceTask>" + catch("paid") + '<endEvent id="end"/>',
        "begin>job job>paid paid>end",
        PAID,
    )
    broker.deploy([("order.bpmn", late)])
    instances = [created(broker) for _ in range(12)]
    jobs = broker.activate_jobs("t", 100)
    assert not isinstance(jobs, Refusal)
    keys = {job.key: f"k-{number}" for number, job in enumerate(jobs)}
    for job in jobs:
        broker.complete_job(job.key, {"orderId": keys[job.key]})
    waits = {row.instance_key: row.correlation_key for row in broker.store.rows(t.SUBSCRIPTION, {}, None, 100)}
    apart = [it for it in instances if broker.homes.shard_of_record(it) != shard_of(waits[it], 2)]
    poison.keys = {apart[0]}
    with carried(broker, by_threads):
        for instance in instances:
            broker.publish(NewMessage("paid", waits[instance], ttl_ms=600_000))
    assert active(broker) == [apart[0]]
    [item] = listed(broker)
    assert (item.kind, item.order) == ("mail", "DeliverMessage")
    check(broker)
    poison.keys.clear()
    assert not isinstance(broker.retry_set_aside(item.key), Refusal)
    assert (active(broker), listed(broker)) == ([], [])
    check(broker)


@pytest.mark.parametrize("error", [OverflowError("too large"), EndlessRequest(500)])
def test_what_is_set_aside_is_cleared_when_its_instance_is_cancelled(
    broker: Broker, clock: FakeClock, poison: Poison, error: Exception
) -> None:
    broker.deploy([("order.bpmn", TIMERS)])
    poison.keys, poison.error = {key := created(broker)}, error
    clock.advance_ms(2_000)
    for _ in range(20):
        broker.tick()
        clock.advance_ms(60_000)
    [item] = listed(broker)
    assert item.next_try_at is None
    broker.cancel_instance(key)
    broker.tick()
    assert (active(broker), listed(broker)) == ([], [])
    check(broker)


def test_a_due_row_that_its_instance_knows_nothing_of_is_set_aside_and_stops_no_other(
    tmp_path: Path, clock: FakeClock
) -> None:
    """More of them than one sweep takes, and due before all others."""
    with closing(create_broker(tmp_path / "store", 1, clock)) as broker:
        broker.deploy([("order.bpmn", TIMERS)])
        key = created(broker)
        plant(tmp_path / "store" / "shard-00.db", key, range(1, 2_001))
        others = [created(broker) for _ in range(3)]
        clock.advance_ms(2_000)
        broker.tick()
        assert active(broker) == []
        rows = list(broker.store.rows(t.SET_ASIDE, {}, None, 3_000))
        assert (len(rows), {row.reason for row in rows}) == (2_000, {NO_EFFECT})
        with broker.post.look(0) as snapshot:
            version = snapshot.head.version
        clock.advance_ms(60_000)
        assert broker.tick() == 0
        with broker.post.look(0) as snapshot:
            assert snapshot.head.version == version
        answer = broker.retry_set_aside(rows[0].key)
        assert isinstance(answer, Refusal)
        assert NO_EFFECT in answer.text
        assert len(others) == 3


def plant(file: Path, instance: int, keys: Iterable[int]) -> None:
    """Timers in the index that the instance does not have, due long ago."""
    with closing(sqlite3.connect(file)) as connection, connection:
        names = [name for _, name, *_ in connection.execute("pragma table_info(timer)")]
        [row] = connection.execute("select * from timer where instance_key = ?", [instance])
        for key in keys:
            planted = {**dict(zip(names, row, strict=True)), "key": key, "due_at": key}
            connection.execute(f"insert into timer values ({','.join('?' * len(names))})", list(planted.values()))

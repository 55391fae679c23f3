"""Rounds: an exception in any thread at any time. When the storm is over, nothing is lost and everything is well again.

Fault points raise instead of killing, now and then, in the threads of the shards, in sweeps, in mail, in the inbox, in
answers and listeners. A round follows from its seed; `make test-faults ROUNDS=500` runs many of them.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from random import Random
from threading import enumerate as threads_alive
from time import monotonic, sleep

import pytest

from conjoin import fault_points
from conjoin.errors import StoreFailed
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.message import Hint
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import CreatedInstance, PublishedMessage, Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.carriers.shard_threads import ShardThreads, shard_threads
from conjoin.runtime.upkeep.supervision import Repeating
from conjoin.runtime.upkeep.sweeper import Sweeper
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, PAID, catch, model
from tests.runtime.inbox.bench import CHANNEL, CHANNELS, preset

ROUNDS = int(os.environ.get("ROUNDS", "20"))
WAIT_S = 60
REQUESTS = 25
ERRORS = (
    *(OverflowError("storm"), KeyError("storm"), ValueError("storm"), RuntimeError("storm"), MemoryError("storm")),
    *(OSError("storm"), StoreFailed("storm"), RecursionError("storm"), AssertionError("storm")),
)
TIMER = (
    '<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT0.02S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>"
)
JOB = '<serviceTask id="pack"><extensionElements><zeebe:taskDefinition type="pack"/></extensionElements></serviceTask>'
MODEL = model(BEGIN + TIMER + JOB + catch("paid") + END, "begin>wait wait>pack pack>paid paid>end", PAID)
"""The key is known after the job, so that it is on another shard as often as not."""


@contextmanager
def at_work(broker: Broker) -> Iterator[tuple[ShardThreads, Inbox]]:
    """As a server does it."""
    inbox = Inbox(broker, preset(mode="all"), CHANNELS)
    with shard_threads(broker) as runner, closing(inbox):
        sweeper = Sweeper(broker, runner, every_s=0.02)
        runs = Repeating("inbox", inbox.run, 0.02, broker.supervisor)
        sweeper.start()
        runs.start()
        try:
            yield runner, inbox
        finally:
            fault_points.disarm()
            runs.stop()
            sweeper.stop()


class Client:
    """It remembers what it was told; what failed may have been done or not."""

    def __init__(self, broker: Broker, inbox: Inbox, rng: Random) -> None:
        self._inbox = inbox
        self.published: set[int] = set()
        self.created: set[int] = set()
        self._broker = broker
        self._rng = rng

    def ask_something(self, number: int) -> None:
        with suppress(*{type(error) for error in ERRORS}):
            if self._rng.random() < 0.4:
                answer = self._broker.create_instance("order", {"orderId": f"o-{number}"})
                if isinstance(answer, CreatedInstance):
                    self.created.add(answer.key)
            elif self._rng.random() < 0.2:
                self.work()
            elif self._rng.random() < 0.2:
                headers, hint = (("X-CORRELATE-ID", f"m-{number}"),), Hint("paid", f"o-{number}")
                self._inbox.receive(
                    CHANNEL, [Arrival(0, "topic-0", number, self._broker.now, b"{}", headers, hint=hint)]
                )
            else:
                key = f"o-{self._rng.randrange(number + 1)}"
                published = self._broker.publish(NewMessage("paid", key, ttl_ms=self._rng.choice([50, 60_000])))
                if isinstance(published, PublishedMessage):
                    self.published.add(published.key)

    def work(self) -> None:
        jobs = self._broker.activate_jobs("pack", 10, timeout_ms=50)
        for job in [] if isinstance(jobs, Refusal) else jobs:
            self._broker.complete_job(job.key, {})


def until(condition: Callable[[], bool], what: Callable[[], object]) -> None:
    """It is waited for as long as it takes, within reason."""
    give_up = monotonic() + WAIT_S
    while not condition():
        assert monotonic() < give_up, what()
        sleep(0.005)


class Storm:
    """At any point one of the errors is raised, with a probability."""

    def __init__(self, seed: str, probability: float) -> None:
        self.raised = 0
        self._rng = Random(seed)
        self._probability = probability

    def pass_by(self, point: str) -> None:
        if self._rng.random() < self._probability:
            self.raised += 1
            error = self._rng.choice(ERRORS)
            raise type(error)(*error.args, point)


@pytest.mark.parametrize("number", range(ROUNDS))
def test_after_a_storm_of_errors_everything_is_done_and_well(seed: int, number: int) -> None:
    rng = Random(f"{seed}/{number}")
    again = f"SEED={seed} ROUNDS={ROUNDS} .venv/bin/python -m pytest 'tests/faults/test_storms.py' -k '[{number}]'"
    with closing(temporary_broker(2)) as broker:
        broker.deploy([("order.bpmn", MODEL)])
        with at_work(broker) as (runner, inbox):
            client = Client(broker, inbox, rng)
            storm = Storm(f"{seed}/{number}", rng.choice([0.02, 0.1, 0.3]))
            fault_points.arm_with(storm)
            for count in range(500):
                client.ask_something(count)
                if count >= REQUESTS and storm.raised:
                    break
            fault_points.disarm()
            assert all(worker.is_alive() for worker in runner.workers), again
            _settle(broker, client, again)
            names = {thread.name for thread in threads_alive()}
            assert {"shard-0", "shard-1", "sweep-0", "sweep-1", "mail", "inbox"} <= names, again
        assert storm.raised, again
        _check(broker, client, f"{storm.raised} errors were raised\nagain: {again}")


def _settle(broker: Broker, client: Client, again: str) -> None:
    """What was set aside is retried, jobs are done; then everything has come to rest by itself."""

    def is_well() -> bool:
        for row in broker.store.rows(t.SET_ASIDE, {"state": "waiting"}, None, 100):
            broker.retry_set_aside(row.key)
        client.work()
        is_open = [next(iter(broker.store.rows(table, {}, None, 1)), None) for table in (t.TIMER, t.JOB, t.SET_ASIDE)]
        mail = [row for shard in range(2) for row in _mail(broker, shard)]
        untried = [row for row in broker.store.rows(t.INBOX, {"attempts": 0}, None, 100) if row.state == "waiting"]
        return (
            not any(is_open) and not mail and not untried and all(it.state == "ok" for it in broker.supervisor.report())
        )

    until(is_well, lambda: (broker.supervisor.report(), again))


def _mail(broker: Broker, shard: int) -> list[object]:
    with broker.post.look(1 - shard) as snapshot:
        taken = snapshot.received().get(shard, 0)
    with broker.post.look(shard) as snapshot:
        return list(snapshot.outbox(1 - shard, taken, 10))


def _check(broker: Broker, client: Client, again: str) -> None:
    rows = {row.key: row for row in broker.store.rows(t.MESSAGE, {}, None, 1_000)}
    assert client.published <= set(rows), again
    assert not [key for key in client.published if not rows[key].verdict], again
    instances = {row.key: row for row in broker.store.rows(t.INSTANCE, {}, None, 1_000)}
    assert client.created <= set(instances), again
    waiting = {row.instance_key for row in broker.store.rows(t.SUBSCRIPTION, {"closed_at": None}, None, 1_000)}
    stuck = [key for key in client.created if instances[key].state == "active" and key not in waiting]
    assert stuck == [], again
    assert [it.difference for it in verify_store(broker.store) if it.difference] == [], again

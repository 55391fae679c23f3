"""Exactly once: runners beside each other, and runs that die anywhere in their commits, take every message once."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest

from conjoin.fault_points import arm, disarm
from conjoin.kernel.inbox import InboxSettings
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.store import tables as t
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import CHANNELS, REMOTE, Bench, FakeTarget, preset

MESSAGES = 60


@pytest.fixture(params=["sqlite", "postgres"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str | Path]:
    if request.param == "sqlite":
        yield tmp_path / "store"
        return
    server = request.getfixturevalue("postgres_server")
    url = server.new_database()
    yield url
    server.drop_database(url)


@pytest.fixture
def filled(address: str | Path) -> Callable[..., Bench]:
    """An inbox with messages that somebody waits for each, two in a group, and some in a named group."""

    def fill(settings: InboxSettings, channel: str = "orders") -> Bench:
        clock = FakeClock()
        bench = Bench(create_broker(address, 3, clock), clock, settings)
        for number in range(MESSAGES):
            key = f"o-{number % (MESSAGES // 2)}"
            bench.wait(key) if channel == "orders" and number < MESSAGES // 2 else None
            bench.send(key, f"m-{number:02}", channel, group="named" if number % 10 == 0 else "")
        return bench

    return fill


def check(bench: Bench, address: str | Path) -> None:
    """Of each key one message was taken by the one who waited, and the other found nobody."""
    done = bench.rows(state="done")
    taken = list(bench.broker.store.rows(t.MESSAGE, {"verdict": "correlated"}, None, 10_000))
    completed = list(bench.broker.store.rows(t.INSTANCE, {"state": "completed"}, None, 10_000))
    assert len(done) == len(taken) == len(completed) == MESSAGES // 2
    assert len({row.correlation_key for row in done}) == MESSAGES // 2
    assert {row.message_key for row in done} == {row.key for row in taken}
    assert [it.difference for it in verify_store(bench.broker.store) if it.difference] == []


def test_two_runners_beside_each_other_take_every_message_once(
    filled: Callable[..., Bench], address: str | Path
) -> None:
    bench = filled(preset(mode="all"))
    brokers = [bench.broker, open_broker(address, bench.clock)]
    start, counts, failed = Barrier(2), [Counts(), Counts()], []

    def run(number: int, broker: Broker) -> None:
        inbox = Inbox(broker, bench.settings, CHANNELS, at_once=7)
        start.wait()
        try:
            for _ in range(3):
                counts[number] += inbox.run()
        except BaseException as error:
            failed.append(error)
            raise

    threads = [Thread(target=run, args=it) for it in enumerate(brokers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == []
    assert sum(its.correlated for its in counts) == MESSAGES // 2
    check(bench, address)
    for broker in brokers:
        broker.close()


def test_runs_go_on_beside_clients_in_a_serving_process(filled: Callable[..., Bench], address: str | Path) -> None:
    bench = filled(preset(mode="all"))
    with closing(bench.broker), shard_threads(bench.broker):
        inbox = Inbox(bench.broker, bench.settings, CHANNELS, at_once=5)
        assert inbox.run().correlated == MESSAGES // 2
        check(bench, address)


class Died(BaseException):
    pass


def die() -> None:
    raise Died


@pytest.mark.parametrize("point", ["loaded", "decided", "writing", "written", "committed", "delivered"])
def test_a_run_that_dies_in_a_commit_is_finished_by_the_next(
    filled: Callable[..., Bench], address: str | Path, point: str
) -> None:
    bench = filled(preset(mode="all"))
    for nth in (1, 3, 8, 20):
        arm(point, nth, die)
        try:
            Inbox(bench.broker, bench.settings, CHANNELS, at_once=9).run()
        except Died:
            bench.broker.close()
            bench.broker = open_broker(address, bench.clock)
        finally:
            disarm()
    bench.configure(bench.settings)
    bench.broker.tick()
    bench.run(after_s=1)
    check(bench, address)
    bench.broker.close()


@pytest.mark.parametrize("nth", [2, 3])
def test_a_process_that_is_killed_between_correlation_and_booking_leaves_neither(tmp_path: Path, nth: int) -> None:
    """They are one commit: killed before its end nothing has happened, and then all of it happens once."""
    store = tmp_path / "store"
    with closing(create_broker(store, 1, FakeClock())) as broker:
        bench = Bench(broker, FakeClock(), preset())
        bench.wait("o-1")
        bench.send("o-1", "m-1")
    command = [sys.executable, "-m", "tests.runtime.inbox.one_run", str(store)]
    killed = subprocess.run(command, env={**os.environ, "CONJOIN_FAULT": f"written:{nth}"}, check=False)
    with closing(open_broker(store, FakeClock())) as broker:
        [row] = broker.store.rows(t.INBOX, {}, None, 9)
        correlated = list(broker.store.rows(t.MESSAGE, {"verdict": "correlated"}, None, 9))
    # The first commit notes the rules, the second is the correlation, and there is no third.
    assert (killed.returncode == -9) == (nth == 2)
    assert (row.state, len(correlated)) == (("waiting", 0) if nth == 2 else ("done", 1))
    subprocess.run(command, check=True)
    with closing(open_broker(store, FakeClock())) as broker:
        [row] = broker.store.rows(t.INBOX, {}, None, 9)
        assert row.state == "done"
        assert len(list(broker.store.rows(t.MESSAGE, {"verdict": "correlated"}, None, 9))) == 1


def test_a_remote_call_is_made_at_least_once_whatever_dies(filled: Callable[..., Bench], address: str | Path) -> None:
    bench = filled(preset(mode="all"), channel=REMOTE)
    target = FakeTarget()
    for nth in (1, 2, 3, 5, 8):
        arm("written", nth, die)
        try:
            Inbox(bench.broker, bench.settings, CHANNELS, {"elsewhere": target}).run()
        except Died:
            bench.broker.close()
            bench.broker = open_broker(address, bench.clock)
        finally:
            disarm()
    calls_before = len(target.calls)
    bench.targets = {"elsewhere": target}
    bench.configure(bench.settings)
    for _ in range(3):
        bench.run(after_s=300)
    assert set(target.calls) == {f"m-{number:02}" for number in range(MESSAGES)}
    assert len(target.calls) >= max(calls_before, MESSAGES)
    assert set(bench.states().values()) == {"done"}
    bench.broker.close()


def test_two_who_store_the_same_message_store_it_once(filled: Callable[..., Bench], address: str | Path) -> None:
    bench = filled(preset())
    brokers = [bench.broker, open_broker(address, bench.clock)]
    arrivals = [bench.arrival(f"x-{n}", f"x-{n}") for n in range(40)]
    start, counts = Barrier(2), []

    def receive(broker: Any) -> None:
        start.wait()
        counts.append(Inbox(broker, bench.settings, CHANNELS).receive("orders", arrivals))

    threads = [Thread(target=receive, args=(broker,)) for broker in brokers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(its.persisted for its in counts) == sum(its.duplicate for its in counts) == 40
    for broker in brokers:
        broker.close()

"""Inboxes on both databases, and on SQLite alone where the database makes no difference.

After every story the log is carried out again: what the inbox has offered to the engine must be all in it.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

import pytest

from conjoin.kernel.inbox import InboxSettings
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker, temporary_broker
from conjoin.runtime.replay.replay import verify_store
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import Bench

Make = Callable[..., Bench]
POSTGRES_SHARDS = 2


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@contextmanager
def _told(broker: Broker) -> Iterator[Broker]:
    with closing(broker):
        yield broker
        assert [it.difference for it in verify_store(broker.store) if it.difference] == []


def _benches(broker: Broker, clock: FakeClock) -> Make:
    return lambda settings=None: Bench(broker, clock, settings or InboxSettings())


@pytest.fixture(params=["sqlite", "postgres"])
def broker(request: pytest.FixtureRequest, clock: FakeClock) -> Iterator[Broker]:
    """On several shards."""
    if request.param == "sqlite":
        made = temporary_broker(3, clock)
    else:
        made = open_broker(request.getfixturevalue("postgres_server").emptied_store(POSTGRES_SHARDS), clock)
    with _told(made) as broker:
        yield broker


@pytest.fixture
def make(broker: Broker, clock: FakeClock) -> Make:
    """On both databases."""
    return _benches(broker, clock)


@pytest.fixture
def bench(make: Make) -> Bench:
    return make()


@pytest.fixture
def single(clock: FakeClock) -> Iterator[Make]:
    """On one shard of SQLite."""
    with _told(temporary_broker(1, clock)) as broker:
        yield _benches(broker, clock)


@pytest.fixture
def sharded(clock: FakeClock) -> Iterator[Make]:
    """On three shards of SQLite."""
    with _told(temporary_broker(3, clock)) as broker:
        yield _benches(broker, clock)

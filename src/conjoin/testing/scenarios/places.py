"""Places: where a scenario is played. Each gives a fresh engine for one story, and what can be observed of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.engine import Engine
from conjoin.runtime.inline import inline
from conjoin.runtime.queries import MemoryView
from conjoin.runtime.stored_history import StoredHistory
from conjoin.testing.clock import FakeClock
from conjoin.testing.scenarios.outcome import View

Place = Callable[[FakeClock], AbstractContextManager[tuple[Any, View]]]


def in_memory(shards: int = 1) -> Place:
    return partial(_in_memory, shards=shards)


@contextmanager
def _in_memory(clock: FakeClock, shards: int) -> Iterator[tuple[Any, View]]:
    engine = Engine(clock, shards)
    yield engine, MemoryView(engine)


Make = Callable[[FakeClock], Broker]
Carry = Callable[[Broker], AbstractContextManager[Any]]


def on_store(make: Make, carry: Carry = inline) -> Place:
    """On a new store for each story, gone when the story has been told; `carry` takes the requests to its shards."""
    return partial(_on_store, make=make, carry=carry)


@contextmanager
def _on_store(clock: FakeClock, make: Make, carry: Carry) -> Iterator[tuple[Any, View]]:
    broker = make(clock)
    try:
        with carry(broker):
            yield broker, StoredHistory(broker)
    finally:
        broker.close()

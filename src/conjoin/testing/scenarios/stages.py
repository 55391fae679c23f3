"""Stages: where a scenario is played. Each gives a fresh engine for one story, and what can be observed of it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.catalog import chosen_policies
from conjoin.runtime.engine.memory import Engine
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.testing.clock import FakeClock
from conjoin.testing.observing.open_now import MemoryView
from conjoin.testing.observing.stored_history import StoredHistory
from conjoin.testing.scenarios.outcome import EngineView
from conjoin.testing.scenarios.read import StoryRules

Stage = Callable[[FakeClock, StoryRules], AbstractContextManager[tuple[Any, EngineView]]]


def in_memory(shards: int = 1) -> Stage:
    return partial(_in_memory, shards=shards)


@contextmanager
def _in_memory(clock: FakeClock, rules: StoryRules, shards: int) -> Iterator[tuple[Any, EngineView]]:
    engine = Engine(clock, shards, chosen_policies(rules.profile, rules.policies), rules.profile)
    yield engine, MemoryView(engine)


Make = Callable[[FakeClock, str], Broker]
"""A broker on a new store of this profile."""
Carry = Callable[[Broker], AbstractContextManager[Any]]


def on_store(make: Make, carry: Carry = shard_threads) -> Stage:
    """On a new store for each story, gone when the story is over; `carry` takes the requests to its shards."""
    return partial(_on_store, make=make, carry=carry)


@contextmanager
def _on_store(clock: FakeClock, rules: StoryRules, make: Make, carry: Carry) -> Iterator[tuple[Any, EngineView]]:
    broker = make(clock, rules.profile)
    try:
        # What holds for all names comes first: a name's own policies are read together with it.
        for name in sorted(rules.policies, key=lambda name: name != "*"):
            broker.catalog.set_policy(name, rules.policies[name], clock())
        with carry(broker):
            yield broker, StoredHistory(broker)
    finally:
        broker.close()

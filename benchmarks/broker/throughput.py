"""How many messages a second are published, correlated, advanced and committed."""

import random
import time
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

from benchmarks.broker.state import key_of, paid
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.run.run import Timings

BATCH = 1_000


class Measured(NamedTuple):
    rate: float
    timings: Timings
    messages: int

    def told(self) -> str:
        """Where the time goes, in microseconds a message."""
        parts = ((name, getattr(self.timings, name)) for name in ("load", "decide", "encode", "commit"))
        return ", ".join(f"{name} {seconds * 1e6 / self.messages:.0f}" for name, seconds in parts)


def in_batches(broker: Broker, numbers: list[int]) -> Measured:
    """One shard, one after the other."""
    started = time.perf_counter()
    for first in range(0, len(numbers), BATCH):
        done = broker.post.run(0, Batch([paid(number) for number in numbers[first : first + BATCH]]))
        assert len(done.replies) == len(numbers[first : first + BATCH])
    return Measured(len(numbers) / (time.perf_counter() - started), broker.post.runners[0].timings, len(numbers))


def one_by_one(broker: Broker, numbers: list[int]) -> Measured:
    """Through the inline runner; each is committed before the next is published."""
    with shard_threads(broker) as runner:
        started = time.perf_counter()
        for number in numbers:
            broker.publish(paid(number))
        return Measured(len(numbers) / (time.perf_counter() - started), runner.timings[0], len(numbers))


def side_by_side(address: str, shards: int, numbers: list[int]) -> float:
    """A process a shard, each with its own messages: the rate of all together."""
    shares = [[n for n in numbers if shard_of(key_of(n), shards) == shard] for shard in range(shards)]
    with ProcessPoolExecutor(shards) as pool:
        # Started and warm before the clock runs.
        list(pool.map(_work, [address] * shards, range(shards), [share[:BATCH] for share in shares]))
        started = time.perf_counter()
        list(pool.map(_work, [address] * shards, range(shards), [share[BATCH:] for share in shares]))
        return sum(len(share[BATCH:]) for share in shares) / (time.perf_counter() - started)


_brokers: dict[str, Broker] = {}


def _work(address: str, shard: int, numbers: list[int]) -> None:
    broker = _brokers.get(address) or _brokers.setdefault(address, open_broker(address))
    for first in range(0, len(numbers), BATCH):
        broker.post.run(shard, Batch([paid(number) for number in numbers[first : first + BATCH]]))


def chosen(instances: int, count: int, seed: int = 3) -> list[int]:
    return random.Random(seed).sample(range(instances), count)

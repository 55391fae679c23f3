"""How many messages a second are published, correlated, advanced and committed."""

import random
import time
from concurrent.futures import ProcessPoolExecutor
from typing import Any, NamedTuple

from benchmarks.broker.state import key_of, paid
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.batches import Batch
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.run.run import Timings

BATCH = 1_000


class Measured(NamedTuple):
    wall_s: float
    cpu_s: float
    timings: Timings
    messages: int

    @property
    def rate(self) -> float:
        return self.messages / self.wall_s

    def told(self) -> dict[str, Any]:
        """Where the time goes, in microseconds a message."""
        steps = ("load", "decide", "encode", "commit")
        each_us = {name: round(getattr(self.timings, name) * 1e6 / self.messages, 1) for name in steps}
        cpu_us = round(self.cpu_s * 1e6 / self.messages, 1)
        return {"rate": round(self.rate), "cpu_us": cpu_us, "steps_us": each_us}


def in_batches(broker: Broker, numbers: list[int]) -> Measured:
    """One shard, one after the other."""
    started, cpu = time.perf_counter(), time.process_time()
    for first in range(0, len(numbers), BATCH):
        done = broker.post.run(0, Batch([paid(number) for number in numbers[first : first + BATCH]]))
        assert len(done.replies) == len(numbers[first : first + BATCH])
    spent = time.perf_counter() - started, time.process_time() - cpu
    return Measured(*spent, broker.post.runners[0].timings, len(numbers))


def one_by_one(broker: Broker, numbers: list[int]) -> Measured:
    """Through the inline runner; each is committed before the next is published."""
    with shard_threads(broker) as runner:
        started, cpu = time.perf_counter(), time.process_time()
        for number in numbers:
            broker.publish(paid(number))
        spent = time.perf_counter() - started, time.process_time() - cpu
        return Measured(*spent, runner.timings[0], len(numbers))


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

"""What it costs to keep what was near: lost messages published in batches, with and without the job that looks around.

    python -m benchmarks.explain.kept [--seconds 5] [--rounds 6] [--crowd 10000] [--shards 2]

The two take turns, so that whatever else the machine does meets both. Prints messages a second of time and of CPU time.
"""

import argparse
import random
import time
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from statistics import fmean
from typing import NamedTuple

from benchmarks.explain import models
from benchmarks.explain.in_store import World
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.explain.kept.keeping import EVERY_S, KeepingEvidence
from conjoin.runtime.run.carriers.shard_threads import ShardThreads, shard_threads
from conjoin.runtime.upkeep.supervision import Repeating
from conjoin.store import tables as t

AT_ONCE = 2_000
_MOST = 10_000


class Rate(NamedTuple):
    a_second: float
    a_cpu_second: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--crowd", type=int, default=10_000)
    parser.add_argument("--shards", type=int, default=2)
    wanted = parser.parse_args()
    world = World("running", wanted.crowd, wanted.shards, random.Random(21))
    without: list[Rate] = []
    keeping: list[Rate] = []
    with shard_threads(world.broker) as threads:
        published(world, threads, 1.0)
        for number in range(2 * wanted.rounds):
            # In the order of A B B A: the store grows, which costs the later ones more.
            if number % 4 in (0, 3):
                without.append(published(world, threads, wanted.seconds))
            else:
                with looking(world):
                    keeping.append(published(world, threads, wanted.seconds))
    kept = world.broker.store.count(t.EVIDENCE, {}, _MOST)
    for name in Rate._fields:
        before, after = (fmean(getattr(rate, name) for rate in rates) for rates in (without, keeping))
        print(f"{name}: {before:,.0f} without, {after:,.0f} with; ratio {after / before:.3f}")
    print(f"kept what was near to {kept} messages in {wanted.rounds * wanted.seconds:.0f} s")


@contextmanager
def looking(world: World) -> Iterator[None]:
    job = Repeating("evidence", lambda: keeper.round(), EVERY_S)
    keeper = KeepingEvidence(world.broker, job.rest)
    job.start()
    try:
        yield
    finally:
        job.stop()
        keeper.close()
        if job.failed is not None:
            raise job.failed


def published(world: World, threads: ShardThreads, seconds: float) -> Rate:
    """Lost messages, each with a key that nobody has."""
    began, cpu, count = time.perf_counter(), time.process_time(), 0
    while time.perf_counter() - began < seconds:
        world.clock.advance_ms(1)
        keys = [next(world.keys) for _ in range(AT_ONCE)]
        new = [NewMessage(models.PAID, key, {}, 0) for key in keys]
        asked = [threads.submit(shard_of(it.key, world.broker.shard_count), it) for it in new]
        for future in wait(asked).done:
            future.result()
        count += AT_ONCE
    return Rate(count / (time.perf_counter() - began), count / (time.process_time() - cpu))


if __name__ == "__main__":
    main()

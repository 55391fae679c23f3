"""How long a single publish takes while a thousand are published a second, and while a million messages expire."""

import time
from concurrent.futures import Future
from statistics import median
from typing import Any

from benchmarks.broker.state import key_of, paid
from conjoin.runtime.broker import Broker
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.runtime.upkeep.garbage_collection import short_pauses
from conjoin.runtime.upkeep.sweeper import Sweeper


def at_a_steady_rate(
    broker: Broker, numbers: list[int], a_second: int = 1_000, sweep_every_s: float = 1.0, expiring: bool = False
) -> list[float]:
    """Milliseconds from the instant at which each was due to be published until it was committed, in their order.

    The sweeper runs and the garbage collector rests as they do in a server.
    """
    took_ms: list[float] = []

    def note(due: float) -> Any:
        return lambda _: took_ms.append((time.perf_counter() - due) * 1e3)

    asked: list[Future[Any]] = []
    with short_pauses(), shard_threads(broker) as runner:
        sweeper = Sweeper(broker, runner, every_s=sweep_every_s)
        sweeper.start()
        started = time.perf_counter()
        for place, number in enumerate(numbers):
            due = started + place / a_second
            time.sleep(max(0.0, due - time.perf_counter()))
            future = runner.submit(shard_of(key_of(number), broker.shard_count), paid(number))
            future.add_done_callback(note(due))
            asked.append(future)
        for future in asked:
            future.result()
        sweeper.stop()
        assert bool(sweeper.swept) == expiring, "what expired while it was measured is not what should have"
    return took_ms


def typical(took_ms: list[float]) -> float:
    return round(percentile(sorted(took_ms), 0.5), 2)


def steady_p99(took_ms: list[float]) -> float:
    """The median of the p99 of each second: a second in which the machine itself stood still does not decide it."""
    seconds = [sorted(took_ms[first : first + 1_000]) for first in range(0, len(took_ms), 1_000)]
    return round(median(percentile(second, 0.99) for second in seconds), 2)


def percentile(sorted_ms: list[float], share: float) -> float:
    return sorted_ms[min(len(sorted_ms) - 1, int(len(sorted_ms) * share))]

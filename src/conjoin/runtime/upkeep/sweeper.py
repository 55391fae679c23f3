"""The sweeper: threads that carry out what has fallen due, while others publish, and remove what is over.

Each shard has a thread of its own, so that one that hangs or whose file is damaged keeps no other from its timers. It
takes little at a time, so that no publish waits long behind it, and then it rests as long as that took.
"""

from collections import deque
from collections.abc import Callable
from functools import partial
from statistics import fmean, linear_regression
from time import perf_counter
from typing import Any

from conjoin.fault_points import passing
from conjoin.runtime.broker import Broker
from conjoin.runtime.explain.kept.keeping import EVERY_S, KeepingEvidence
from conjoin.runtime.run.batches import PROBE, Reply
from conjoin.runtime.run.carriers.shard_threads import ShardThreads
from conjoin.runtime.run.due import AT_ONCE, Kind, Sweep, peek
from conjoin.runtime.run.set_aside import retry_due, sweep_carefully
from conjoin.runtime.upkeep.retention import KEEP_EVERYTHING, Cleaning, KeepFor
from conjoin.runtime.upkeep.supervision import Repeating

Step = tuple[str, Callable[[], object]]
"""What it does, and how."""
LONGEST_SWEEP_S = 0.25
"""Of one kind, then the others have their turn: timers that set new ones at once are due without end."""
WANTED_S = 0.002
_FEWEST = 5
_REMEMBERED = 16


class SweepSize:
    """How many items one sweep takes: as many as take two milliseconds, found by trying.

    Part of the time does not depend on their number: a sync, or a large instance that all of them belong to, which is
    read and written once a sweep. A smaller sweep does not shorten that part, so the items may take as long again.
    """

    def __init__(self) -> None:
        self.limit = 50
        self._sweeps: deque[tuple[int, float]] = deque(maxlen=_REMEMBERED)
        self._fixed_s = 0.0

    def note(self, took_s: float) -> None:
        """The last sweep was full, and took so long."""
        self._sweeps.append((self.limit, took_s))
        limits, times = zip(*self._sweeps, strict=True)
        mean, mean_s = fmean(limits), fmean(times)
        each_s = max(mean_s - self._fixed_s, 0.01 * mean_s) / mean
        if max(limits) > min(limits):
            each_s = max(linear_regression(limits, times).slope, 0.01 * mean_s / mean)
            self._fixed_s = mean_s - each_s * mean
        wanted = max(WANTED_S, self._fixed_s) / each_s
        if wanted < _FEWEST and len(self._sweeps) == _REMEMBERED and max(limits) == _FEWEST:
            # As long as all are alike it cannot be seen how much of the time is theirs.
            wanted = 4 * _FEWEST
        self.limit = max(_FEWEST, min(AT_ONCE, int(min(wanted, self.limit * 2))))


class Sweeper:
    """All of these threads."""

    def __init__(
        self, broker: Broker, inline: ShardThreads, every_s: float = 1.0, keep_for: KeepFor = KEEP_EVERYTHING
    ) -> None:
        self.cleaning = Cleaning(broker.store, lambda: broker.now, keep_for)
        self._shards = [_ShardSweeper(broker, inline, index, every_s) for index in range(broker.shard_count)]
        self._threads = [it.thread for it in self._shards]
        self._threads += [_watch(broker, inline, shard, every_s) for shard in range(broker.shard_count)]
        if broker.shard_count > 1:
            mail = Repeating("mail", broker.post.forget_delivered, max(every_s, 1.0), broker.supervisor)
            self._threads.append(mail)
        looking = Repeating("evidence", lambda: self._evidence.round(), EVERY_S, broker.supervisor)
        self._evidence = KeepingEvidence(broker, looking.rest)
        self._threads.append(looking)
        if keep_for != KEEP_EVERYTHING:
            retention = Repeating("retention", lambda: self._clean(retention, every_s), every_s, broker.supervisor)
            self._threads.append(retention)

    @property
    def swept(self) -> int:
        """So much has fallen due and happened."""
        return sum(it.swept for it in self._shards)

    @property
    def failed(self) -> BaseException | None:
        """What the last round of one of them ended with; the next one tries again."""
        return next((thread.failed for thread in self._threads if thread.failed is not None), None)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        for thread in self._threads:
            thread.stop_soon()
        for thread in self._threads:
            thread.stop()
        for shard in self._shards:
            shard.store.close()
        self.cleaning.close()
        self._evidence.close()

    def _clean(self, thread: Repeating, for_s: float) -> None:
        """A round in pieces: between two of them it rests as long as the first took."""
        until = perf_counter() + for_s
        while not thread.is_stopping and (started := perf_counter()) < until and self.cleaning.go_on():
            thread.rest(perf_counter() - started)


def _watch(broker: Broker, inline: ShardThreads, shard: int, every_s: float) -> Repeating:
    """What fails beside the commits of a shard is seen as any other trouble is."""
    store = inline.workers[shard].runner.store

    def step() -> None:
        trouble = store.trouble()
        if trouble is not None:
            raise trouble

    return Repeating(f"beside-{shard}", step, every_s, broker.supervisor)


class _ShardSweeper:
    """One shard, which it reads through a connection of its own."""

    def __init__(self, broker: Broker, inline: ShardThreads, shard: int, every_s: float) -> None:
        self.swept = 0
        self.thread = Repeating(f"sweep-{shard}", self._round, every_s, broker.supervisor, critical=True)
        self._broker = broker
        self._inline = inline
        self._ask: Callable[[Any], Reply] = partial(inline.ask, shard)
        self._shard = shard
        self.store = broker.store.shard(shard).reader()
        self._size = SweepSize()
        self._is_more_due = False

    def _round(self) -> None:
        """Again at once, as long as more is due than there was time for."""
        self._is_more_due = True
        while self._is_more_due and not self.thread.is_stopping:
            self._is_more_due = False
            self._turn()

    def _turn(self) -> None:
        job = self.thread.job
        if self._inline.workers[self._shard].job.error is not None:
            job.doing = "finding out whether the shard can commit again"
            self._ask(PROBE)
        job.doing = "looking what is due"
        with self.store.begin() as snapshot:
            seen = peek(snapshot, self._broker.clock.follow(snapshot.head.time))
        self._broker.supervisor.set_aside[self._shard] = seen.set_aside
        steps: list[Step] = [(f"sweeping {kind}", partial(self._sweep, kind)) for kind in seen.due]
        steps.append(("scheduling start timers", partial(self._broker.schedule_starts, self._shard, seen)))
        if seen.to_retry:
            steps.append(("retrying what is set aside", partial(retry_due, self._ask, seen.to_retry)))
        if seen.receivers:
            # Mostly it is on its way; but it may be what a process that died has left.
            steps.insert(0, ("handing on mail", partial(self._inline.notice, self._shard, seen.receivers)))
        self._do(steps)

    def _do(self, steps: list[Step]) -> None:
        """All of them, whichever fails; the round has failed if one has."""
        failed: Exception | None = None
        for doing, step in steps:
            self.thread.job.doing = doing
            try:
                passing("sweeping")
                step()
            except Exception as error:  # noqa: BLE001 - the other steps have nothing to do with it
                if failed is not None:
                    self.thread.job.count(failed)
                failed = error
        if failed is not None:
            raise failed

    def _sweep(self, kind: Kind) -> None:
        until = perf_counter() + LONGEST_SWEEP_S
        while not self.thread.is_stopping:
            started, limit = perf_counter(), self._size.limit
            if started > until:
                self._is_more_due = True
                return
            swept = sweep_carefully(self._ask, self.store.begin, Sweep(kind, limit), lambda: self._broker.now)
            took_s = perf_counter() - started
            self.swept += swept
            self.thread.job.progressed()
            if swept < limit:
                return
            self._size.note(took_s)
            self.thread.rest(took_s)

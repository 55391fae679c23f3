"""The sweeper: a thread that lets happen what has fallen due, while others publish, and removes what is over.

It asks for little at a time, so that nobody who publishes waits long behind it: as much as takes about two
milliseconds, found out by trying, and then it rests as long as that took. What is over waits for what has fallen due.
"""

from threading import Event, Thread
from time import perf_counter

from conjoin.errors import ConjoinError
from conjoin.runtime.broker import Broker
from conjoin.runtime.cleaning import Cleaning
from conjoin.runtime.inline import Inline
from conjoin.runtime.retention import KEEP_EVERYTHING, KeepFor
from conjoin.runtime.sweeps import AT_ONCE, KINDS, Sweep

WANTED_S = 0.002
_FEWEST = 5


class Sweeper(Thread):
    def __init__(
        self, broker: Broker, inline: Inline, every_s: float = 1.0, keep_for: KeepFor = KEEP_EVERYTHING
    ) -> None:
        super().__init__(name="sweeper", daemon=True)
        self.swept = 0
        """So much has fallen due and happened."""
        self.failed: ConjoinError | None = None
        """What the last round ended with; the next one tries again."""
        self._broker = broker
        self._inline = inline
        self._every_s = every_s
        self._limit = 50
        self._stopping = Event()
        self.cleaning = Cleaning(broker.store, lambda: broker.now, keep_for)

    def run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                self._round()
                self._clean()
                self.failed = None
            except ConjoinError as error:
                self.failed = error
        self.cleaning.close()

    def stop(self) -> None:
        self._stopping.set()
        self.join()

    def _round(self) -> None:
        peeked = self._broker.look_around()
        if any(seen.receivers for seen in peeked):
            # Mostly it is on its way; but it may be what a process that died has left.
            self._inline.deliver()
            self._broker.post.forget_delivered()
        for kind in KINDS:
            for shard, seen in enumerate(peeked):
                while kind in seen.due and not self._stopping.is_set() and self._sweep(shard, Sweep(kind, self._limit)):
                    pass
        for shard in range(self._broker.shard_count):
            self._broker.store.checkpoint(shard)

    def _clean(self) -> None:
        """No longer than until the next round: something may have fallen due."""
        until = perf_counter() + self._every_s
        while not self._stopping.is_set() and (started := perf_counter()) < until and self.cleaning.go_on():
            self._stopping.wait(perf_counter() - started)

    def _sweep(self, shard: int, sweep: Sweep) -> bool:
        """Answers whether there is more."""
        started = perf_counter()
        swept = self._inline.ask(shard, sweep).swept
        took_s = perf_counter() - started
        self.swept += swept
        if swept == sweep.limit:
            self._limit = max(_FEWEST, min(AT_ONCE, int(self._limit * min(WANTED_S / took_s, 2))))
            self._stopping.wait(took_s)
        return swept == sweep.limit

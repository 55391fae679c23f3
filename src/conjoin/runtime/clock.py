"""The clock of a process: it follows a monotonic clock, so that no jump of the wall clock stops or hurries a timer.

`SteadyClock` begins with the wall clock and goes on with the monotonic one; a difference between the two is made up
slowly. `ForwardClock` keeps beyond what the shards have committed: a store whose time is ahead, after a glitch in an
earlier process perhaps, goes on from there at the pace of the clock and does not stand still. Neither ever goes back.
"""

import logging
import time
from collections.abc import Callable
from threading import Lock

from conjoin.fault_points import clock_error_us

Clock = Callable[[], int]
"""Answers with microseconds."""

SLEW = 20
"""One part in so many of the time that passes makes up for a difference: an hour takes twenty."""
JUMP_US = 1_000_000
"""The wall clock has jumped if it has moved so much more, or less, than the time that has passed."""
_log = logging.getLogger(__name__)


def wall_us() -> int:
    return time.time_ns() // 1_000 + clock_error_us()


def monotonic_us() -> int:
    """It counts while the machine sleeps, where the system has such a clock."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000
    return time.monotonic_ns() // 1_000


class SteadyClock:
    """For any number of threads."""

    def __init__(self, wall: Clock = wall_us, monotonic: Clock = monotonic_us) -> None:
        self.jumps = 0
        """How often the wall clock has jumped."""
        self.offset_us = 0
        """How far the wall clock is ahead of this one."""
        self._wall = wall
        self._monotonic = monotonic
        self._turn = Lock()
        self._seen = monotonic()
        self._now = wall()
        self._spare = 0
        """Time that has passed and was not used to make up for a difference."""

    def __call__(self) -> int:
        with self._turn:
            seen, wall = self._monotonic(), self._wall()
            elapsed = max(seen - self._seen, 0)
            self._seen += elapsed
            offset = wall - (self._now + elapsed)
            if abs(offset - self.offset_us) > JUMP_US:
                self.jumps += 1
                _log.warning(
                    "the wall clock has jumped by %.1f s; timers and deadlines go on as before, by the monotonic clock",
                    (offset - self.offset_us) / 1_000_000,
                )
            most, self._spare = divmod(self._spare + elapsed, SLEW)
            correction = max(-most, min(most, offset))
            self._now += elapsed + correction
            self.offset_us = offset - correction
            return self._now


class ForwardClock:
    """Another clock, but never behind what a shard has committed (`follow`). For any number of threads."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.ahead_us = 0
        """How far the store is ahead of the clock; it is made up slowly."""
        self._turn = Lock()
        self._last = 0
        self._spare = 0

    def __call__(self) -> int:
        if not self.ahead_us:
            return self.clock()
        with self._turn:
            return self._later()

    def follow(self, instant: int) -> int:
        """A shard has committed at this instant. Answers what time it is, not before then."""
        now = self()
        if instant <= now:
            return now
        with self._turn:
            behind = instant - self._later()
            if behind > JUMP_US and not self.ahead_us:
                _log.warning("the store is %.1f s ahead of the clock, and goes on from there", behind / 1_000_000)
            self.ahead_us += max(behind, 0)
            return max(instant, self._last + self.ahead_us)

    def _later(self) -> int:
        now = self.clock()
        if self.ahead_us:
            most, self._spare = divmod(self._spare + max(now - self._last, 0), SLEW)
            self.ahead_us = max(self.ahead_us - most, 0)
        self._last = now
        return now + self.ahead_us

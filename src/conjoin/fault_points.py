"""Points at which a test lets this process die, sleep, wait or fail: named, and passed again and again. Else nothing.

`CONJOIN_FAULT=written:3` kills the process (as `kill -9` does) when it comes to the point `written` for the third time;
`CONJOIN_FAULT=decided:1:2.5` lets it sleep there for 2.5 seconds. `arm` does the same from within.
`CONJOIN_FAULT_CLOCK` names a file: by so many seconds the wall clock is wrong.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from threading import Thread, current_thread
from typing import Protocol

VARIABLE = "CONJOIN_FAULT"
CLOCK_VARIABLE = "CONJOIN_FAULT_CLOCK"
POINTS = ("begun", "loaded", "decided", "encoded", "writing", "written", "committed", "delivering", "delivered")
"""Those of commits and of the mail between shards."""
BESIDE = ("sweeping", "replying", "telling", "trying", "notifying")
"""Those of what runs beside."""
OF_TABLES = ("file_written", "run_staged", "run_decided", "run_moved")
"""Those of a run that writes tables: in a worker, and in the driver's commit."""
OF_STREAMS = ("bucket_written", "batch_written", "batch_committed", "batch_moved")
"""Those of a stream of tables, as they come."""

Strike = Callable[[], None]


class Armed(Protocol):
    def pass_by(self, point: str) -> None: ...


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _AtPoint:
    """Where it strikes, and at which passing. Threads may pass at once: each takes a number of its own."""

    def __init__(self, point: str, nth: int, strike: Strike) -> None:
        self._point = point
        self._nth = nth
        self._strike = strike
        self._numbers = count(1)

    def pass_by(self, point: str) -> None:
        if point == self._point and next(self._numbers) == self._nth:
            self._strike()


_armed: Armed | None = None
_spared: frozenset[Thread] = frozenset()
_wrong_by = os.environ.get(CLOCK_VARIABLE)


def arm(point: str, nth: int, strike: Strike = die) -> None:
    """One point at a time; the last call counts."""
    global _armed
    known = (*POINTS, *BESIDE, *OF_TABLES, *OF_STREAMS)
    assert point in known, f"{point} is none of {', '.join(known)}"
    _armed = _AtPoint(point, nth, strike)


def arm_with(armed: Armed) -> None:
    """At every point, until `disarm`."""
    global _armed
    _armed = armed


def disarm() -> None:
    global _armed
    _armed = None


def spare(threads: Iterable[Thread]) -> None:
    """These pass every point unharmed: they belong to servers that a test did not start."""
    global _spared
    _spared = frozenset(threads)


def passing(point: str) -> None:
    armed = _armed
    if armed is not None and current_thread() not in _spared:
        armed.pass_by(point)


def clock_error_us() -> int:
    """By how much the wall clock of this process is to be wrong."""
    if not _wrong_by:
        return 0
    try:
        return int(float(Path(_wrong_by).read_text()) * 1_000_000)
    except (OSError, ValueError):
        return 0


if os.environ.get(VARIABLE):
    _point, _nth, *_seconds = os.environ[VARIABLE].split(":")
    arm(_point, int(_nth), partial(time.sleep, float(_seconds[0])) if _seconds else die)

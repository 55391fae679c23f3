"""Points at which a test lets this process die, sleep, wait or fail: named, and passed again and again. Else nothing.

`CONJOIN_FAULT=written:3` kills the process (as `kill -9` does) when it comes to the point `written` for the third time;
`CONJOIN_FAULT=decided:1:2.5` lets it sleep there for 2.5 seconds. `arm` does the same from within, and `storm` raises
an error now and then at any point. `CONJOIN_FAULT_CLOCK` names a file: by so many seconds the wall clock is wrong.
"""

import os
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from random import Random
from threading import Thread, current_thread
from typing import Protocol

VARIABLE = "CONJOIN_FAULT"
CLOCK_VARIABLE = "CONJOIN_FAULT_CLOCK"
POINTS = ("begun", "loaded", "decided", "encoded", "writing", "written", "committed", "delivering", "delivered")
"""Those of commits and of the mail between shards."""
BESIDE = ("sweeping", "replying", "telling", "trying", "notifying")
"""Those of what runs beside."""

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


class Storm:
    """At any point one of the errors is raised, with a probability."""

    def __init__(self, seed: str, probability: float, errors: tuple[Exception, ...]) -> None:
        self.raised = 0
        self._rng = Random(seed)
        self._probability = probability
        self._errors = errors

    def pass_by(self, point: str) -> None:
        if self._rng.random() < self._probability:
            self.raised += 1
            error = self._rng.choice(self._errors)
            raise type(error)(*error.args, point)


_armed: Armed | None = None
_spared: frozenset[Thread] = frozenset()
_wrong_by = os.environ.get(CLOCK_VARIABLE)


def arm(point: str, nth: int, strike: Strike = die) -> None:
    """One point at a time; the last call counts."""
    global _armed
    known = (*POINTS, *BESIDE)
    assert point in known, f"{point} is none of {', '.join(known)}"
    _armed = _AtPoint(point, nth, strike)


def storm(seed: str, probability: float, errors: tuple[Exception, ...]) -> Storm:
    """Until `disarm`."""
    global _armed
    _armed = found = Storm(seed, probability, errors)
    return found


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


def _arm_from(text: str) -> None:
    point, nth, *seconds = text.split(":")
    arm(point, int(nth), partial(time.sleep, float(seconds[0])) if seconds else die)


if os.environ.get(VARIABLE):
    _arm_from(os.environ[VARIABLE])

"""Points at which a test lets this process die, sleep or wait: named, and passed in every commit. Else they do nothing.

`CONJOIN_FAULT=written:3` kills the process (as `kill -9` does) when it comes to the point `written` for the third time;
`CONJOIN_FAULT=decided:1:2.5` lets it sleep there for 2.5 seconds. `arm` does the same from within.
"""

import os
import signal
import time
from collections.abc import Callable
from functools import partial
from itertools import count

VARIABLE = "CONJOIN_FAULT"
POINTS = ("begun", "loaded", "decided", "encoded", "writing", "written", "committed", "delivering", "delivered")

Strike = Callable[[], None]


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


class _Armed:
    """Where it strikes, and at which passing. Threads may pass at once: each takes a number of its own."""

    def __init__(self, point: str, nth: int, strike: Strike) -> None:
        self.point = point
        self._nth = nth
        self._strike = strike
        self._numbers = count(1)

    def pass_by(self) -> None:
        if next(self._numbers) == self._nth:
            self._strike()


_armed: _Armed | None = None


def arm(point: str, nth: int, strike: Strike = die) -> None:
    """One point at a time; the last call counts."""
    global _armed
    assert point in POINTS, f"{point} is none of {', '.join(POINTS)}"
    _armed = _Armed(point, nth, strike)


def disarm() -> None:
    global _armed
    _armed = None


def passing(point: str) -> None:
    if _armed is not None and _armed.point == point:
        _armed.pass_by()


def _arm_as_told(told: str) -> None:
    point, nth, *seconds = told.split(":")
    arm(point, int(nth), partial(time.sleep, float(seconds[0])) if seconds else die)


if os.environ.get(VARIABLE):
    _arm_as_told(os.environ[VARIABLE])

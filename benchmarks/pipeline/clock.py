"""How long something took, and how much CPU time of this process and all that it started (Linux only).

On a machine with other work the second is the figure to compare.
"""

import os
import time
from pathlib import Path
from typing import NamedTuple

_TICKS = os.sysconf("SC_CLK_TCK")
_PARENT, _TIMES = 1, slice(11, 15)
"""In a line of /proc/PID/stat behind the name: the parent; the times of the process, and of children that ended."""


class Measured(NamedTuple):
    rate: float
    cpu_us: float
    """Of one message."""


class Clock:
    """It runs from when it is made."""

    def __init__(self) -> None:
        self._cpu_s = _cpu_s()
        self._began = time.perf_counter()

    def measured(self, messages: int) -> Measured:
        took, cpu_s = time.perf_counter() - self._began, _cpu_s() - self._cpu_s
        return Measured(messages / took, cpu_s * 1e6 / messages)


def _cpu_s() -> float:
    stats = _stats()
    family = {os.getpid()}
    while more := {pid for pid, stat in stats.items() if int(stat[_PARENT]) in family} - family:
        family |= more
    return sum(int(ticks) for pid in family for ticks in stats[pid][_TIMES]) / _TICKS


def _stats() -> dict[int, list[str]]:
    stats = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            stats[int(process.name)] = (process / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it ended while we looked
    return stats

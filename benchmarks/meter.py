"""Wall time and CPU time of this process and all that it started, those that have ended too (Linux only).

Workers of Spark come and go, so each process is looked at several times a second, and the last figure of each counts.
On a machine with other work the CPU time is the figure to compare.
"""

import os
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

EVERY_S = 0.2
_TICKS = os.sysconf("SC_CLK_TCK")


class Meter:
    """Of the block that it surrounds: `wall_s`, `cpu_s`, and the most memory that one worker of PySpark has held."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0
        self.worker_peak_mib = 0
        self._cpu: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._before = self._look()
        self._cpu = dict(self._before)
        self._began = time.perf_counter()
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.wall_s = time.perf_counter() - self._began
        self._stop.set()
        self._thread.join()
        self._cpu |= self._look()
        self.cpu_s = sum(spent - self._before.get(pid, 0.0) for pid, spent in self._cpu.items())

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            self._cpu |= self._look()

    def _look(self) -> dict[int, float]:
        """Own CPU seconds of every process of the family."""
        parents, spent = {}, {}
        for process in Path("/proc").glob("[0-9]*"):
            try:
                stat = (process / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue  # it ended while we looked
            pid = int(process.name)
            parents[pid], spent[pid] = int(stat[1]), (int(stat[11]) + int(stat[12])) / _TICKS
        family = {os.getpid()}
        while more := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= more
        for pid in family:
            self._look_at_memory(pid)
        return {pid: spent[pid] for pid in family if pid in spent}

    def _look_at_memory(self, pid: int) -> None:
        try:
            if b"pyspark.worker" in Path(f"/proc/{pid}/cmdline").read_bytes():
                status = Path(f"/proc/{pid}/status").read_text()
                self.worker_peak_mib = max(self.worker_peak_mib, int(status.split("VmHWM:")[1].split()[0]) // 1024)
        except (OSError, IndexError):
            pass  # it ended while we looked

"""The peak memory of Spark's Python workers, as the kernel of the machine counts it (Linux only)."""

import threading
from pathlib import Path
from types import TracebackType
from typing import Self

EVERY_S = 0.5


def _peaks_kib() -> dict[int, int]:
    """VmHWM of every process that is a worker of PySpark."""
    peaks = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if b"pyspark.worker" in (process / "cmdline").read_bytes():
                status = (process / "status").read_text()
                peaks[int(process.name)] = int(status.split("VmHWM:")[1].split()[0])
        except (OSError, IndexError):
            continue  # it ended while we looked
    return peaks


class WorkerMemory:
    """Looks twice a second while the block runs; `peak_mib` is the most that any one worker has held."""

    def __init__(self) -> None:
        self.peak_mib = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            self.peak_mib = max([self.peak_mib, *(kib // 1024 for kib in _peaks_kib().values())])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

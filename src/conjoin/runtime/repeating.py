"""A thread that does something again and again in a serving process, until it is stopped.

What fails by the world's fault is tried again the next time; it ends nothing.
"""

from collections.abc import Callable
from threading import Event, Thread

from conjoin.errors import ConjoinError


class Repeating(Thread):
    def __init__(self, name: str, step: Callable[[], object], every_s: float) -> None:
        super().__init__(name=name, daemon=True)
        self.failed: ConjoinError | None = None
        """What the last step ended with; the next one tries again."""
        self._step = step
        self._every_s = every_s
        self._stopping = Event()

    def run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                self._step()
                self.failed = None
            except ConjoinError as error:
                self.failed = error

    def stop(self) -> None:
        self._stopping.set()
        self.join()

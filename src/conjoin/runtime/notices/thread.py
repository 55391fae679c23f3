"""The notifier in a serving process: a round every few seconds, until it is stopped."""

from threading import Event, Thread

from conjoin.errors import ConjoinError
from conjoin.runtime.notices.notifier import Notifier

EVERY_S = 5.0


class NoticesThread(Thread):
    def __init__(self, notifier: Notifier, every_s: float = EVERY_S) -> None:
        super().__init__(name="notices", daemon=True)
        self.failed: ConjoinError | None = None
        """What the last round ended with; the next one tries again."""
        self._notifier = notifier
        self._every_s = every_s
        self._stopping = Event()

    def run(self) -> None:
        while not self._stopping.wait(self._every_s):
            try:
                self._notifier.round()
                self.failed = None
            except ConjoinError as error:
                self.failed = error

    def stop(self) -> None:
        self._stopping.set()
        self.join()

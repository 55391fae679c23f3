"""A reading of the store that ends: at its deadline, or when its client has gone.

The thread that reads has at most one (`reading`); stores look at it before and during each statement. What writes has
none and is never broken off. `is_late` comes first: lists that can say how far they came stop there by themselves.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Thread
from time import monotonic

from conjoin.errors import ReadStopped

_CURRENT: ContextVar["Reading | None"] = ContextVar("reading", default=None)


class Reading:
    """Cancelled from any thread; used by one."""

    def __init__(self, within_s: float, late_after_s: float | None = None, inside: "Reading | None" = None) -> None:
        """`inside`: it is over when that one is, too."""
        now = monotonic()
        self._within_s = within_s
        self._until = now + within_s
        self._late_at = now + (within_s / 2 if late_after_s is None else late_after_s)
        self._inside = inside
        self._is_cancelled = False
        self._stop: Callable[[], None] | None = None

    @property
    def is_over(self) -> bool:
        is_over = self._is_cancelled or monotonic() >= self._until
        return is_over or (self._inside is not None and self._inside.is_over)

    @property
    def is_late(self) -> bool:
        return self._is_cancelled or monotonic() >= self._late_at

    @property
    def left_s(self) -> float:
        return max(self._until - monotonic(), 0.0)

    def cancel(self) -> None:
        self._is_cancelled = True
        stop = self._stop
        if stop is not None:
            # Cancelling takes a connection of its own: it is not waited for here.
            Thread(target=stop, name="cancel", daemon=True).start()

    def check(self) -> None:
        if self.is_over:
            raise self.stopped()

    def stopped(self) -> ReadStopped:
        why = "nobody waits for it any more" if self._is_cancelled else f"it took more than {self._within_s:g} s"
        return ReadStopped(f"the store was not read to the end: {why}; ask for less at a time, or try again later")

    @contextmanager
    def stopped_by(self, stop: Callable[[], None]) -> Iterator[None]:
        """During the block a cancel calls `stop`, which ends the statement that runs."""
        self.check()
        outermost = self
        while outermost._inside is not None:
            outermost = outermost._inside
        outermost._stop = stop
        try:
            yield
        finally:
            outermost._stop = None
        # The cancel may still be on its way: it must not hit the next statement.
        if outermost._is_cancelled:
            raise self.stopped()


def current() -> Reading | None:
    return _CURRENT.get()


def check() -> None:
    """Raises `ReadStopped` if the reading of this thread is over."""
    it = _CURRENT.get()
    if it is not None:
        it.check()


def is_late() -> bool:
    it = _CURRENT.get()
    return it is not None and it.is_late


@contextmanager
def at_most(within_s: float) -> Iterator[None]:
    """Less time than the whole reading has; without one there is all the time that it takes."""
    it = _CURRENT.get()
    if it is None:
        yield
        return
    with reading(Reading(within_s, inside=it)):
        yield


def is_over() -> bool:
    it = _CURRENT.get()
    return it is not None and it.is_over


@contextmanager
def reading(it: Reading) -> Iterator[None]:
    token = _CURRENT.set(it)
    try:
        yield
    finally:
        _CURRENT.reset(token)

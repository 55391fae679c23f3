"""Supervision of what runs beside the requests: the threads of the shards, periodic jobs, tasks of the event loop.

Whatever a round raises is logged with what it was doing, counted, and kept for the report that health, metrics and the
console show; then the job goes on, after a pause that doubles with each failure in a row. Invariant: a job ends only by
being stopped.
"""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from threading import Event, Lock, Thread
from time import monotonic
from typing import NamedTuple

from conjoin.errors import ConjoinError

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 30.0
LATE_S = 30.0
"""A job that has not succeeded for so long beyond its period, or is busy with one thing for so long, is down."""
FAILURES_DOWN = 3
"""A periodic job that has failed so often in a row is down, too; it goes on trying."""
_LONGEST_TEXT = 500
_log = logging.getLogger(__name__)

Clock = Callable[[], float]


class JobReport(NamedTuple):
    """How a job is doing. `age_s`: since its last success; `busy_s`: what it does now has taken so long."""

    name: str
    state: str
    """ok; failing: the last round failed, and it goes on; down: it is late beyond its bound, or cannot do its work."""
    critical: bool
    """While it is down the server is not ready."""
    doing: str
    failures: int
    error: str
    age_s: float
    busy_s: float
    late_s: float


class SupervisedJob:
    """One job. Written by its own thread, read by any."""

    def __init__(self, name: str, every_s: float | None, critical: bool, clock: Clock = monotonic) -> None:
        self.name = name
        self.critical = critical
        self.doing = ""
        self.failures = 0
        self.error: BaseException | None = None
        """What the last round ended with; None after a success."""
        self._every_s = every_s
        """None: it works when there is something to do; it is late when that takes long, and down when it failed."""
        self._in_a_row = 0
        self._clock = clock
        self._succeeded_at = clock()
        self._busy_since: float | None = None
        self._repeated: tuple[object, ...] = ()
        self._count = 0

    @contextmanager
    def working(self, doing: str) -> Iterator[None]:
        self.doing, self._busy_since = doing, self._clock()
        try:
            yield
        finally:
            self.doing, self._busy_since = "", None

    def succeeded(self) -> None:
        self._succeeded_at = self._clock()
        self.error, self._in_a_row, self._repeated = None, 0, ()

    def progressed(self) -> None:
        """A long round goes on well."""
        self._succeeded_at = self._clock()

    def failed(self, error: BaseException) -> None:
        """The round is over, and has not done what it should."""
        self.error = error
        self._in_a_row += 1
        self.count(error)

    def count(self, error: BaseException) -> None:
        """Something went wrong, and the round goes on: it is counted and logged."""
        self.failures += 1
        frames = traceback.extract_tb(error.__traceback__)[-1:]
        signature = (type(error), *((frame.filename, frame.lineno) for frame in frames))
        self._count = self._count + 1 if signature == self._repeated else 1
        self._repeated = signature
        # The first of its kind as a whole, then at growing intervals: the 2nd, 4th, 8th in a row.
        doing = self.doing or "waiting"
        if self._count == 1:
            trace = None if isinstance(error, ConjoinError) else error
            _log.error("%s failed while %s: %s", self.name, doing, text_of(error), exc_info=trace)
        elif self._count & (self._count - 1) == 0:
            _log.error("%s failed %d times while %s: %s", self.name, self._count, doing, text_of(error))

    @property
    def pause_s(self) -> float:
        """Before the next round: its period, or longer after failures."""
        if not self._in_a_row:
            return self._every_s or 0.0
        back_off = min(FIRST_PAUSE_S * 2.0 ** min(self._in_a_row - 1, 20), LONGEST_PAUSE_S)
        return max(self._every_s or 0.0, back_off)

    def report(self) -> JobReport:
        now, busy_since, error = self._clock(), self._busy_since, self.error
        age_s = now - self._succeeded_at
        busy_s = 0.0 if busy_since is None else now - busy_since
        if self._every_s is None:
            late_s, bound_s = busy_s, LATE_S
            is_down = error is not None
        else:
            late_s, bound_s = max(age_s - self._every_s, 0.0), max(LATE_S, 10 * self._every_s)
            is_down = self._in_a_row >= FAILURES_DOWN
        state = "down" if is_down or late_s > bound_s else "failing" if error is not None else "ok"
        return JobReport(
            *(self.name, state, self.critical, self.doing, self.failures, "" if error is None else text_of(error)),
            *(round(age_s, 3), round(busy_s, 3), round(late_s, 3)),
        )


class Supervisor:
    """All jobs of a process."""

    def __init__(self, clock: Clock = monotonic) -> None:
        self.jobs: dict[str, SupervisedJob] = {}
        self.set_aside: dict[int, int] = {}
        """How much is set aside, by shard, as of its last sweep."""
        self.refused_notices: dict[str, str] = {}
        """Receivers of notices that do not accept them, each with why."""
        self._clock = clock
        self._turn = Lock()

    def job(self, name: str, every_s: float | None = None, critical: bool = False) -> SupervisedJob:
        """A new one, in place of one of that name that is over."""
        job = SupervisedJob(name, every_s, critical, self._clock)
        with self._turn:
            self.jobs[name] = job
        return job

    def over(self, job: SupervisedJob) -> None:
        with self._turn:
            if self.jobs.get(job.name) is job:
                del self.jobs[job.name]

    def report(self) -> list[JobReport]:
        with self._turn:
            jobs = list(self.jobs.values())
        return [job.report() for job in jobs]


class Repeating(Thread):
    """A thread that does something again and again, until it is stopped."""

    def __init__(
        self,
        name: str,
        step: Callable[[], object],
        every_s: float,
        supervisor: Supervisor | None = None,
        *,
        critical: bool = False,
    ) -> None:
        super().__init__(name=name, daemon=True)
        self._supervisor = supervisor or Supervisor()
        self.job = self._supervisor.job(name, every_s, critical)
        self._step = step
        self._stopping = Event()

    @property
    def failed(self) -> BaseException | None:
        """What the last round ended with; the next one tries again."""
        return self.job.error

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def rest(self, seconds: float) -> bool:
        """Inside a round: so long, unless it is to stop, which is the answer."""
        return self._stopping.wait(seconds)

    def run(self) -> None:
        while not self._stopping.wait(self.job.pause_s):
            with self.job.working("a round"):
                try:
                    self._step()
                except BaseException as error:  # noqa: BLE001 - the border of a thread: it ends by being stopped
                    self.job.failed(error)
                else:
                    self.job.succeeded()
        self._supervisor.over(self.job)

    def stop_soon(self) -> None:
        self._stopping.set()

    def stop(self) -> None:
        self._stopping.set()
        if self.is_alive():
            self.join()


async def supervised(job: SupervisedJob, work: Callable[[], Awaitable[None]]) -> None:
    """A task of the event loop that is begun again when it fails; it is over when it ends by itself."""
    while True:
        try:
            with job.working("its work"):
                await work()
        except Exception as error:  # noqa: BLE001 - the border of a task: it ends by being cancelled or when it is done
            job.failed(error)
            await asyncio.sleep(job.pause_s)
        else:
            return job.succeeded()


def text_of(error: BaseException) -> str:
    """An error in words: its kind and its text, of a few lines at most."""
    text = str(error) if isinstance(error, ConjoinError) else f"{type(error).__name__}: {error}"
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]} ..."

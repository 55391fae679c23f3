"""Workers who wait for jobs: one that asks once (a poll), and one that goes on (a stream).

`room` is how many jobs it can take now. `busy` jobs are being activated for it: it is not answered before they come,
so that nothing is given to somebody who has just stopped waiting.
"""

import asyncio
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import replace

from conjoin.runtime.client_api.answers import ActivatedJob
from conjoin.runtime.client_api.jobs import JobsWanted

MOST_UNSENT = 32
"""So many jobs are activated for a stream before its client has taken them."""


class Poll:
    is_stream = False

    def __init__(self, wanted: JobsWanted, *, once: bool = False) -> None:
        """`once`: it waits for its turn, but not for jobs."""
        self.wanted = wanted
        self.once = once
        self.busy = 0
        self.answer: asyncio.Future[list[ActivatedJob]] = asyncio.get_running_loop().create_future()
        self._is_over = False

    @property
    def is_gone(self) -> bool:
        return self.answer.done()

    @property
    def room(self) -> int:
        return 0 if self.is_gone else self.wanted.most - self.busy

    def take(self, jobs: Sequence[ActivatedJob]) -> None:
        self.busy = 0
        if (jobs or self._is_over) and not self.answer.done():
            self.answer.set_result(fetched(jobs, self.wanted.fetch))

    def expire(self) -> None:
        """Its time is over: it gets what is on its way, or nothing."""
        self._is_over = True
        if not self.busy:
            self.take(())

    def fail(self, error: Exception) -> None:
        if not self.answer.done():
            self.answer.set_exception(error)


class Stream:
    is_stream = True
    once = False

    def __init__(self, wanted: JobsWanted) -> None:
        self.wanted = wanted
        self.busy = 0
        self.is_gone = False
        self._jobs: deque[ActivatedJob] = deque()
        self._news = asyncio.Event()
        self._error: Exception | None = None

    @property
    def room(self) -> int:
        return 0 if self.is_gone else MOST_UNSENT - self.busy - len(self._jobs)

    def take(self, jobs: Sequence[ActivatedJob]) -> None:
        self.busy = 0
        self._jobs.extend(fetched(jobs, self.wanted.fetch))
        self._news.set()

    def expire(self) -> None:
        self.is_gone = True
        self._news.set()

    def fail(self, error: Exception) -> None:
        self._error = error
        self.expire()

    async def next(self) -> ActivatedJob | None:
        """None: it is over."""
        while not self._jobs:
            if self.is_gone:
                if self._error is not None:
                    raise self._error
                return None
            self._news.clear()
            await self._news.wait()
        return self._jobs.popleft()


Waiter = Poll | Stream


def fetched(jobs: Iterable[ActivatedJob], names: Sequence[str]) -> list[ActivatedJob]:
    """Only the variables with these names, if any are named."""
    if not names:
        return list(jobs)
    wanted = frozenset(names)
    return [
        replace(job, variables={name: value for name, value in job.variables.items() if name in wanted}) for job in jobs
    ]

"""A writer: a process that carries out a story on a store and writes down what it asks and what it is answered.

    python -m tests.faults.writer --store ADDRESS --history FILE --seed 7 --first 1 --count 20

Where it dies is told by CONJOIN_FAULT, or by whoever starts it (`processes.py`). The clock follows from the number of
the request, so that a story is the same each time it is told.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from conjoin.errors import ConjoinError, StoreFailed
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.testing.checking import HistoryFile, RequestAnswered, RequestMade
from tests.faults.story import HOUR_MS, Known, Story

BEGIN_US = 1_700_000_000_000_000
SECOND_US = 1_000_000
OPENINGS = 50


class StoryClock:
    """A second for each request; within one, a little later at each look."""

    def __init__(self) -> None:
        self.number = 0
        self._looks = count()

    def __call__(self) -> int:
        return BEGIN_US + self.number * SECOND_US + next(self._looks) % SECOND_US


@dataclass(frozen=True)
class Chapter:
    """Some requests of a story, by their numbers. `threads`: so many at a time, through the inline runner."""

    store: str
    history: Path
    seed: str
    first: int
    count: int
    writer: str = "a"
    threads: int = 0
    ends: bool = False
    """With everything that is due done, and all jobs back from their workers."""


class Writer:
    def __init__(self, broker: Broker, history: HistoryFile) -> None:
        self._broker = broker
        self._history = history
        self.known = Known([], [])

    def carry_out(self, asked: RequestMade) -> None:
        self._history.made(asked)
        try:
            answer = getattr(self, f"_{asked.kind}")(asked.request, **asked.details)
        except ConjoinError as error:
            self._history.answered(RequestAnswered(asked.request, "failed", {"code": error.code, "text": str(error)}))
            return
        if isinstance(answer, Refusal):
            self._history.answered(RequestAnswered(asked.request, "refused", {"code": answer.code}))
        else:
            self._history.answered(RequestAnswered(asked.request, "done", answer))

    def _create(self, request: str, **said: Any) -> Any:
        answer = self._broker.create_instance(**said)
        if isinstance(answer, Refusal):
            return answer
        self.known.instances.append(answer.key)
        return {"key": answer.key}

    def _publish(self, request: str, **said: Any) -> Any:
        answer = self._broker.publish(NewMessage(**said))
        return answer if isinstance(answer, Refusal) else {"key": answer.key}

    def _correlate(self, request: str, **said: Any) -> Any:
        answer = self._broker.correlate(NewMessage(**said))
        return answer if isinstance(answer, Refusal) else {"key": answer.key, "instance": answer.instance_key}

    def _activate(self, request: str, limit: int, timeout_ms: int) -> Any:
        answer = self._broker.activate_jobs("pack", limit, request, timeout_ms)
        if isinstance(answer, Refusal):
            return answer
        self.known.jobs.extend(job.key for job in answer)
        return {"jobs": [job.key for job in answer]}

    def _complete(self, request: str, job: int, variables: Any) -> Any:
        answer = self._broker.complete_job(job, variables)
        return answer if isinstance(answer, Refusal) else {}

    def _cancel(self, request: str, instance: int) -> Any:
        answer = self._broker.cancel_instance(instance)
        return answer if isinstance(answer, Refusal) else {}

    def _tick(self, request: str) -> Any:
        self._broker.tick()
        return {}


def _opened(address: str, clock: StoryClock) -> Broker:
    """Its server may go away just now, and come back."""
    for _ in range(OPENINGS):
        try:
            return open_broker(address, clock)
        except StoreFailed:
            continue
    return open_broker(address, clock)


def tell(chapter: Chapter) -> None:
    clock = StoryClock()
    clock.number = chapter.first
    with closing(HistoryFile(chapter.history)) as history, closing(_opened(chapter.store, clock)) as broker:
        writer = Writer(broker, history)
        if chapter.threads:
            _tell_inline(chapter, writer, broker, clock)
        else:
            for asked in _requests(chapter, writer, clock):
                writer.carry_out(asked)
        if chapter.ends:
            clock.number += HOUR_MS // 500
            while broker.tick():
                pass


def _requests(chapter: Chapter, writer: Writer, clock: StoryClock) -> Iterator[RequestMade]:
    story = Story(chapter.seed, chapter.writer)
    for number in range(chapter.first, chapter.first + chapter.count):
        clock.number = number
        yield story.request(number, writer.known)


def _tell_inline(chapter: Chapter, writer: Writer, broker: Broker, clock: StoryClock) -> None:
    """Those that look at all shards at once (workers, the clock) are for whoever has the broker to themselves."""
    asked = [it for it in _requests(chapter, writer, clock) if it.kind not in ("activate", "tick")]
    with shard_threads(broker), ThreadPoolExecutor(chapter.threads) as threads:
        list(threads.map(writer.carry_out, asked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", required=True)
    parser.add_argument("--history", type=Path, required=True)
    parser.add_argument("--seed", required=True)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    tell(Chapter(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()

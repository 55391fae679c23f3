"""What a Spark task does, in a process of the tests: the same rows may be handed to several, at once or again."""

import time
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from pickle import loads
from typing import Any, NamedTuple

from conjoin import fault_points
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.codec.orders import written_order
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import now_us, open_broker
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.carriers import spark_tasks as tasks
from conjoin.runtime.run.carriers.shard_threads import ShardThreads, shard_threads
from conjoin.runtime.run.carriers.spark_tasks import TaskRequest, TaskRow, run_task, worker_shards
from conjoin.testing.checking import HistoryFile, RequestAnswered, RequestMade, marked
from tests.faults.processes import Fault, arm_sleep
from tests.faults.story import HOUR_MS
from tests.faults.writer import BEGIN_US

SOURCE = "spark:test"


class Task(NamedTuple):
    """Messages by their numbers, for a store with so many shards."""

    store: str
    history: Path
    size: int
    shards: int
    at_once: int = tasks.AT_ONCE


def asked_of(task: Task) -> list[RequestMade]:
    return [_asked(f"t{number}", f"o-{number % 97}") for number in range(task.size)]


def _asked(request: str, key: str) -> RequestMade:
    said = {"name": "paid", "key": key, "ttl_ms": HOUR_MS, "variables": marked(request, {})}
    return RequestMade(request, "publish", said)


def rows_of(task: Task) -> list[TaskRow]:
    """As the shuffle hands them out: by shard and number."""
    rows = [
        TaskRow(
            shard_of(asked.details["key"], task.shards), number, json_text(written_order(NewMessage(**asked.details)))
        )
        for number, asked in enumerate(asked_of(task))
    ]
    return sorted(rows)


def note_asked(task: Task) -> None:
    """Before any task runs: who carries it out, and how often it is tried, is no business of the client's."""
    with closing(HistoryFile(task.history)) as history:
        for asked in asked_of(task):
            history.made(asked)


def run_rows(task: Task, fault: Fault | None = None) -> None:
    """Runs in a process of its own."""
    if fault is not None:
        fault_points.arm(*fault)
    for _ in _run_rows(task):
        pass


def run_rows_and_wait(task: Task, fault: Fault, reached: Any, go_on: Any) -> None:
    """Runs in a process of its own, and sleeps at a point."""
    arm_sleep(fault, reached, go_on)
    run_rows(task)


def run_large(task: Task, told: Any) -> None:
    """Runs in a process of its own: tells how many races were lost."""
    for _ in _run_rows(task):
        pass
    told.put(worker_shards(task.store).runners[0].timings.lost_races)


def _run_rows(task: Task) -> Iterator[None]:
    """What was carried out by another run is not known here, so it is answered there or nowhere."""
    tasks.AT_ONCE = task.at_once
    with closing(HistoryFile(task.history)) as history:
        for result in run_task(TaskRequest(task.store, SOURCE, BEGIN_US, 0), rows_of(task)):
            reply = loads(result.reply)
            if not reply.repeated:
                history.answered(RequestAnswered(f"t{result.number}", "done", {"key": reply.key}))
            yield


class Small(NamedTuple):
    """So many were answered while the large batch ran, the longest that anybody waited, and races that were lost."""

    answered: int
    longest_s: float
    lost_races: int


class _SmallPublisher:
    """Publishes one by one, at a rate."""

    def __init__(self, runner: ShardThreads, history: HistoryFile) -> None:
        self._runner = runner
        self._history = history
        self._waits: list[float] = []

    def publish_until(self, enough: Any, per_second: int) -> Small:
        began = time.monotonic()
        for number in count(1):
            if enough.is_set():
                break
            self._publish(_asked(f"s{number}", f"o-{number % 97}"))
            time.sleep(max(0.0, began + number / per_second - time.monotonic()))
        self._runner.close()
        return Small(len(self._waits), max(self._waits), self._runner.timings[0].lost_races)

    def _publish(self, asked: RequestMade) -> None:
        self._history.made(asked)
        future = self._runner.submit(0, NewMessage(**asked.details))
        future.add_done_callback(partial(self._answered, asked.request, time.monotonic()))

    def _answered(self, request: str, asked_at: float, future: "Future[Reply]") -> None:
        self._waits.append(time.monotonic() - asked_at)
        self._history.answered(RequestAnswered(request, "done", {"key": future.result().key}))


def publish_small(task: Task, per_second: int, enough: Any, told: Any) -> None:
    """Runs in a process of its own."""
    with (
        closing(HistoryFile(task.history)) as history,
        closing(open_broker(task.store, now_us)) as broker,
        shard_threads(broker) as runner,
    ):
        told.put(_SmallPublisher(runner, history).publish_until(enough, per_second))

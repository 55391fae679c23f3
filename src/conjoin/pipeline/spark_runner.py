"""The Spark runner: the requests of each shard, carried out in a task of their own.

Tasks that fail, are repeated or run twice change nothing: each request has a number, and its commit takes it once. Post
between the shards is delivered in rounds, each one a job over the shards that have some.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any
from uuid import uuid4

from pyspark.sql import SparkSession

from conjoin.kernel.correlation import events as e
from conjoin.pipeline.session.arrow_rows import on_each_shard
from conjoin.runtime.broker import Broker
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.codec.orders import written_order
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.carriers.spark_tasks import POST, ResultRow, TaskRequest, TaskRow, run_task


class SparkRunner:
    """Asks the shards of a store at an address that every worker can reach."""

    def __init__(self, spark: SparkSession, address: str, shards: int, clock: Callable[[], int]) -> None:
        self._spark = spark
        self._address = address
        self._shards = shards
        self._clock = clock
        self._source = f"spark:{uuid4()}"
        self._numbers = count(1)
        self._counter = 0

    def ask(self, shard: int, request: Any) -> Reply:
        return self.ask_many([(shard, request)])[0]

    def ask_many(self, asked: Sequence[tuple[int, Any]]) -> list[Reply]:
        """Each request with its shard; those of one shard are carried out in their order.

        Raises the error of the first that cannot be carried out, when all others are.
        """
        rows = [TaskRow(shard, next(self._numbers), json_text(written_order(request))) for shard, request in asked]
        results = self._job(rows)
        answers = _answers(results) | self.deliver(_receivers(results))
        by_number = {row.number: pickle.loads(row.reply) for row in results}
        replies: list[Reply] = [by_number[row.number] for row in rows]
        for reply in replies:
            if isinstance(reply, Exception):
                raise reply
        for reply in replies:
            reply.answer = answers.get(reply.key)
        return replies

    def deliver(self, receivers: set[int] | None = None) -> dict[int, e.Event]:
        """Empty the mailboxes of some shards, or of all."""
        if receivers is None:
            receivers = set(range(self._shards))
        answers: dict[int, e.Event] = {}
        while receivers:
            results = self._job([TaskRow(shard, next(self._numbers), POST) for shard in sorted(receivers)])
            answers |= _answers(results)
            receivers = _receivers(results)
        return answers

    def _job(self, rows: list[TaskRow]) -> list[ResultRow]:
        asking = TaskRequest(self._address, self._source, self._clock(), self._counter)

        def run(shard: int) -> list[ResultRow]:
            return list(run_task(asking, [row for row in rows if row.shard == shard]))

        shards = sorted({row.shard for row in rows})
        found = [row for rows in on_each_shard(self._spark, shards, run) for row in rows]
        self._counter = max(self._counter, *(row.counter for row in found))
        return found


@contextmanager
def carried_by_spark(broker: Broker, spark: SparkSession) -> Iterator[SparkRunner]:
    """The broker's requests are carried by Spark's tasks from here on."""
    runner = SparkRunner(spark, broker.store.address, broker.shard_count, lambda: broker.now)
    carrier, broker.carrier = broker.carrier, runner
    try:
        yield runner
    finally:
        broker.carrier = carrier


def _answers(results: list[ResultRow]) -> dict[int, e.Event]:
    pickled = {row.answers for row in results}
    return {key: answer for some in pickled for key, answer in pickle.loads(some).items()}


def _receivers(results: list[ResultRow]) -> set[int]:
    return {receiver for row in results for receiver in row.receivers}

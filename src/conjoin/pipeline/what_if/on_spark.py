"""A question answered on Spark: a task for each shard reads its log, then the keys are replayed in parallel.

The commands are read, shuffled by key and sorted once; each round of doubts is one more pass over them. The store is
only read: nothing that is found here goes into it.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.session.arrow_rows import in_batches, rows_of_shards, spark_schema
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.session.worker import in_worker
from conjoin.pipeline.source.options import address_for_tasks
from conjoin.pipeline.what_if.doubts import Doubt, Doubted, Doubts
from conjoin.pipeline.what_if.judged import CHANGED, SAME, UNKNOWN, Judged
from conjoin.pipeline.what_if.lockstep import note, replay, settled
from conjoin.pipeline.what_if.question import Question
from conjoin.pipeline.what_if.recorded import CHILD, STUCK, Recorded, check_whole, decode, encode, recorded_commands
from conjoin.pipeline.what_if.rules import WhatIfRules, read_rules
from conjoin.runtime.opening import open_broker
from conjoin.times.iso8601 import instant_text

_RECORDED = pa.schema(
    [
        *(("tenant_id", pa.string()), ("key", pa.string()), ("shard", pa.int32()), ("number", pa.int64())),
        *(("at", pa.int64()), ("catalog_version", pa.int32()), ("kind", pa.string()), ("body", pa.string())),
    ]
)
_SPECIAL = {
    "message_key": pa.int64(),
    "published_at": pa.timestamp("us", "UTC"),
    "was_receivers": pa.list_(pa.string()),
    "would_receivers": pa.list_(pa.string()),
    "others_unknown": pa.bool_(),
}
_JUDGED = pa.schema([*((name, _SPECIAL.get(name, pa.string())) for name in Judged._fields), ("doubt", pa.string())])


@contextmanager
def answered(
    spark: SparkSession, address: str, question: Question, step: Step = lambda text: None
) -> Iterator[DataFrame]:
    """The messages that were published since, and all others of which something would have changed."""
    address = address_for_tasks(address)
    with closing(open_broker(address)) as broker:
        if broker.store.facts.unique_business_ids:
            raise InputError(["this store has unique business ids: who holds one would have to be guessed"])
        check_whole(broker)
        rules, shards = read_rules(broker, question), broker.shard_count
    held: list[DataFrame] = []
    try:
        with spark_errors():
            step("reading the log")
            commands = _commands(spark, address, rules, shards, held)
            yield _messages(commands, rules, held, step)
    finally:
        for frame in held:
            frame.unpersist()


def _commands(spark: SparkSession, address: str, rules: WhatIfRules, shards: int, held: list[DataFrame]) -> DataFrame:
    """By key, each in its order. What else the log holds is noted in the rules."""
    read = rows_of_shards(spark, range(shards), partial(_read_shard, address, rules.question.until), _RECORDED)
    read = read.persist(StorageLevel.MEMORY_AND_DISK)
    held.append(read)
    is_note = F.col("kind").isin(CHILD, STUCK)
    note(rules, (Recorded(*row) for row in read.where(is_note).toLocalIterator()))
    by_key = read.where(~is_note).repartition(F.xxhash64("tenant_id", "key"))
    commands = by_key.sortWithinPartitions("tenant_id", "key", "shard", "number").persist(StorageLevel.MEMORY_AND_DISK)
    held.append(commands)
    return commands


def _messages(commands: DataFrame, rules: WhatIfRules, held: list[DataFrame], step: Step) -> DataFrame:
    rounds: list[DataFrame] = []

    def spread(doubts: Doubts) -> Iterator[Doubted]:
        step("replaying every key twice" if not rounds else f"spreading doubts, round {len(rounds)}")
        if rounds:
            rounds[-1].unpersist()

        @in_worker
        def task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            yield from in_batches(_replayed(batches, rules, doubts), _JUDGED)

        replayed = commands.mapInArrow(task, spark_schema(_JUDGED))
        rounds.append(replayed.persist(StorageLevel.MEMORY_AND_DISK))
        held.append(rounds[-1])
        for row in rounds[-1].where("doubt is not null").select("doubt").toLocalIterator():
            tenant_id, doubt, *about = decode(row.doubt)
            yield Doubted(tenant_id, Doubt(*doubt), *about)

    settled(spread)
    return rounds[-1].where("doubt is null").drop("doubt")


def _read_shard(address: str, until: int, shard: int) -> Iterator[Recorded]:
    with closing(open_broker(address)) as broker:
        yield from recorded_commands(broker, shard, until)


def _replayed(batches: Iterable[pa.RecordBatch], rules: WhatIfRules, doubts: Doubts) -> Iterator[tuple[Any, ...]]:
    """Messages, and doubts as rows with nothing but their text."""
    nothing = (None,) * len(Judged._fields)
    columns = ([column.to_pylist() for column in batch.columns] for batch in batches)
    commands = (Recorded(*row) for values in columns for row in zip(*values, strict=True))
    for judged, found in replay(commands, rules, doubts):
        yield from ((*it, None) for it in judged)
        yield from ((*nothing, encode(it).decode()) for it in found)


_ORDER = (CHANGED, UNKNOWN, SAME)
_SHOWN = (
    *("message_key", "name", "correlation_key", "tenant_id", "message_id", "change"),
    *("was_verdict", "was_reason", "was_receivers", "was_sentence"),
    *("would_verdict", "would_reason", "would_receivers", "would_sentence", "others_unknown"),
)


class Turn(NamedTuple):
    """So many messages that were this would have been that."""

    change: str
    was: str
    would: str
    messages: int


class WhatIfSummary(NamedTuple):
    turns: Sequence[Turn]
    changes: Sequence[dict[str, Any]]
    """The first so many messages that changed or are unknown, by time."""

    def count(self, change: str) -> int:
        return sum(turn.messages for turn in self.turns if turn.change == change)


def summarize(messages: DataFrame, limit: int) -> WhatIfSummary:
    by = ("change", "was_verdict", "was_reason", "would_verdict", "would_reason")
    counted = messages.groupBy(*by).agg(F.count(F.lit(1)).alias("messages")).collect()
    turns = [
        Turn(change, f"{was} {reason}".strip(), f"{would} {would_reason}".strip(), count)
        for change, was, reason, would, would_reason, count in counted
    ]
    turns.sort(key=lambda turn: (_ORDER.index(turn.change), -turn.messages, turn.was, turn.would))
    changed = messages.where(F.col("change") != SAME)
    first = changed.withColumn("us", F.unix_micros("published_at")).orderBy("us", "message_key").limit(limit)
    return WhatIfSummary(turns, [_shown(row) for row in first.collect()])


def _shown(row: Any) -> dict[str, Any]:
    shown = {name: row[name] for name in _SHOWN}
    return {**shown, "message_key": str(row.message_key), "published_at": instant_text(row.us)}

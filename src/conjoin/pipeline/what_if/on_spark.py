"""A question answered on Spark: a task for each shard reads its log, then the keys are told in lockstep, in parallel.

The commands are read, shuffled by key and sorted once; each round of doubts is one more pass over them. The store is
only read: nothing that is found here goes into it.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.session.arrow_rows import in_batches, spark_schema
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.session.shard_tasks import rows_of_shards
from conjoin.pipeline.session.worker import make_ready
from conjoin.pipeline.source.options import address_for_tasks
from conjoin.pipeline.what_if.doubts import Doubt, Doubted, Doubts
from conjoin.pipeline.what_if.judged import Judged
from conjoin.pipeline.what_if.question import Question
from conjoin.pipeline.what_if.recorded import CHILD, STUCK, Recorded, check_whole, decode, encode, recorded_commands
from conjoin.pipeline.what_if.rules import WhatIfRules, read_rules
from conjoin.pipeline.what_if.stories import note, settled, tell
from conjoin.runtime.opening import open_broker

Task = Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]

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
_JUDGED = pa.schema([*((name, _SPECIAL.get(name, pa.string())) for name in Judged._fields), ("said", pa.string())])


@contextmanager
def answered(
    spark: SparkSession, address: str, question: Question, step: Step = lambda text: None
) -> Iterator[DataFrame]:
    """The messages that were published since, and all others of which something would have changed."""
    place = address_for_tasks(address)
    with closing(open_broker(place)) as broker:
        if broker.store.facts.unique_business_ids:
            raise InputError(["this store has unique business ids: who holds one would have to be guessed"])
        check_whole(broker)
        rules, shards = read_rules(broker, question), broker.shard_count
    held: list[DataFrame] = []
    try:
        with spark_errors():
            step("reading the log")
            commands = _commands(spark, place, rules, shards, held)
            yield _messages(commands, rules, held, step)
    finally:
        for frame in held:
            frame.unpersist()


def _commands(spark: SparkSession, place: str, rules: WhatIfRules, shards: int, held: list[DataFrame]) -> DataFrame:
    """By key, each in its order. What else the log tells is noted in the rules."""
    read = rows_of_shards(spark, range(shards), _reading(place, rules.question.until), _RECORDED)
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
        step("telling every key twice" if not rounds else f"spreading doubts, round {len(rounds)}")
        if rounds:
            rounds[-1].unpersist()
        told = commands.mapInArrow(_telling(rules, doubts), spark_schema(_JUDGED))
        rounds.append(told.persist(StorageLevel.MEMORY_AND_DISK))
        held.append(rounds[-1])
        for row in rounds[-1].where("said is not null").select("said").toLocalIterator():
            yield _read_said(decode(row.said))

    settled(spread)
    return rounds[-1].where("said is null").drop("said")


def _reading(place: str, until: int) -> Callable[[int], Iterator[Recorded]]:
    def read(shard: int) -> Iterator[Recorded]:
        with closing(open_broker(place)) as broker:
            yield from recorded_commands(broker, shard, until)

    return read


def _telling(rules: WhatIfRules, doubts: Doubts) -> Task:
    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        make_ready()
        rows = (
            Recorded(*row)
            for batch in batches
            for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
        )
        yield from in_batches(_told(rows, rules, doubts), _JUDGED)

    return run


def _told(rows: Iterable[Recorded], rules: WhatIfRules, doubts: Doubts) -> Iterator[tuple[Any, ...]]:
    """Messages, and doubts as rows with nothing but their text."""
    nothing = (None,) * len(Judged._fields)
    for judged, said in tell(rows, rules, doubts):
        yield from ((*it, None) for it in judged)
        yield from ((*nothing, encode(it).decode()) for it in said)


def _read_said(said: list[Any]) -> Doubted:
    *about, doubt = said
    return Doubted._make([*about, Doubt._make(doubt)])

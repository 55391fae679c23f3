"""The tables that are correlated: the example's day, and mixes that once took the slow way through the fold.

Each has about the number of events (messages and subscriptions) that is asked for, as Parquet files in no order.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline.correlate import correlate
from examples.order_to_cash.tables import BEGIN_US, TABLES, write_tables

Frames = dict[str, DataFrame]


class Mix(NamedTuple):
    """Tables as files, and what `correlate` is told beside them."""

    frames: Frames
    more: dict[str, Any]


def example(spark: SparkSession, events: int, folder: Path) -> Mix:
    return Mix(_stored(_day(spark, events // 2, folder), folder), {})


def as_of_given(spark: SparkSession, events: int, folder: Path) -> Mix:
    frames = example(spark, events, folder).frames
    latest = max(
        frames[name].agg(F.max(at)).head()[0]  # type: ignore[index]
        for name, at in (("messages", "published_at"), ("subscriptions", "opened_at"), ("ends", "ended_at"))
    )
    return Mix(frames, {"as_of": latest + timedelta(hours=1), "unique_positions": True})


def profile_correlate(spark: SparkSession, events: int, folder: Path) -> Mix:
    """Ids are remembered for seven days: a duration of its own beside the time to live."""
    return Mix(example(spark, events, folder).frames, {"profile": "correlate"})


def second_day(spark: SparkSession, events: int, folder: Path) -> Mix:
    """Half of the rows were kept by a run before: messages and subscriptions that nobody took, and ids."""
    noon = F.timestamp_micros(F.lit(BEGIN_US + 12 * 3_600 * 1_000_000))
    before, after = folder / "before", folder / "after"
    both = _stored(_waiting(_day(spark, events // 2, folder)), before)
    cut = datetime.fromtimestamp(BEGIN_US / 1e6 + 12 * 3_600)
    yesterday = {name: frame.where(F.col(_AT[name]) <= noon) for name, frame in both.items()}
    with correlate(**yesterday, as_of=cut) as run:
        run.write(str(folder / "run"))
    kept = {name: spark.read.parquet(str(folder / "run" / name)) for name in ("buffered", "open", "locks", "ids")}
    today = _stored({name: frame.where(F.col(_AT[name]) > noon) for name, frame in both.items()}, after)
    messages = today["messages"].unionByName(kept["buffered"], allowMissingColumns=True)
    subscriptions = today["subscriptions"].unionByName(kept["open"], allowMissingColumns=True)
    frames = {"messages": messages, "subscriptions": subscriptions, "locks": kept["locks"], "ids": kept["ids"]}
    return Mix(frames, {"since": cut})


def ten_rows_a_key(spark: SparkSession, events: int, folder: Path) -> Mix:
    """An order waits for five messages, one after the other; each comes before or after somebody waits for it."""
    n = events // 2
    numbers = spark.range(n).select(
        F.col("id").alias("i"), F.floor(F.col("id") / 5).alias("order"), (F.col("id") % 5).alias("step")
    )
    early = F.pmod(F.xxhash64("order"), F.lit(4)) == 0
    at = F.lit(BEGIN_US) + F.pmod(F.xxhash64("order", F.lit(1)), F.lit(86_000)) * 1_000_000 + F.col("step") * 60_000_000
    named = F.concat(F.lit("step "), F.col("step").cast("string"))
    key = F.concat(F.lit("order-"), F.col("order").cast("string"))
    messages = numbers.select(
        named.alias("name"),
        key.alias("correlation_key"),
        F.timestamp_micros((at + F.when(early, -30_000_000).otherwise(30_000_000)).cast("bigint")).alias(
            "published_at"
        ),
        F.concat(F.lit("m-"), F.col("i").cast("string")).alias("message_id"),
        F.lit(3_600_000).cast("bigint").alias("ttl_ms"),
        F.format_string('{"orderId":"order-%d","step":%d}', "order", "step").alias("variables"),
        F.col("i").alias("position"),
    )
    subscriptions = numbers.select(
        F.lit("fulfilment").alias("process_id"),
        named.alias("name"),
        key.alias("correlation_key"),
        F.timestamp_micros(at.cast("bigint")).alias("opened_at"),
        F.concat(F.lit("s-"), F.col("i").cast("string")).alias("subscription_id"),
        F.concat(F.lit("i-"), F.col("order").cast("string")).alias("instance_id"),
        F.concat(F.lit("catch-"), F.col("step").cast("string")).alias("element_id"),
    )
    return Mix(_stored({"messages": messages, "subscriptions": subscriptions}, folder), {})


def fifty_start_versions(spark: SparkSession, events: int, folder: Path) -> Mix:
    """The process that a message starts was deployed fifty times during the day."""
    frames = example(spark, events, folder).frames
    every = 24 * 3_600 * 1_000_000 // 50
    [first] = frames["starts"].collect()
    instants = [BEGIN_US + number * every for number in range(50)] + [None]
    rows = [
        (first["process_id"], first["name"], f"{first['element_id']}-{number}", begin, end)
        for number, (begin, end) in enumerate(pairwise(instants))
    ]
    versions = spark.createDataFrame(rows, "process_id string, name string, element_id string, f bigint, u bigint")
    starts = versions.selectExpr(
        "process_id", "name", "element_id", "timestamp_micros(f) as from_at", "timestamp_micros(u) as until_at"
    )
    return Mix(frames | {"starts": starts}, {})


def hot_key(spark: SparkSession, events: int, folder: Path) -> Mix:
    """Every fifth row is on one key."""
    frames = _day(spark, events // 2, folder)
    for name in ("messages", "subscriptions"):
        number = F.xxhash64(F.col("position" if name == "messages" else "subscription_id"))
        key = F.when(F.pmod(number, F.lit(5)) == 0, "hot").otherwise(F.col("correlation_key"))
        frames[name] = frames[name].withColumn("correlation_key", key)
    return Mix(_stored(frames, folder), {})


def half_later(spark: SparkSession, events: int, folder: Path) -> Mix:
    """A table that goes on after the instant that is asked for."""
    return Mix(example(spark, events, folder).frames, {"as_of": datetime.fromtimestamp(BEGIN_US / 1e6 + 12 * 3_600)})


def times_as_texts(spark: SparkSession, events: int, folder: Path) -> Mix:
    """As files of text have them, with a zone."""
    frames = _day(spark, events // 2, folder)
    text = "yyyy-MM-dd'T'HH:mm:ss.SSSXXX"
    for name, columns in (("messages", ["published_at"]), ("subscriptions", ["opened_at", "closed_at"])):
        frames[name] = frames[name].withColumns({column: F.date_format(column, text) for column in columns})
    return Mix(_stored(frames, folder), {})


def slips_in_keys(spark: SparkSession, events: int, folder: Path) -> Mix:
    """Of the messages 3% have another case, a blank, or no prefix in their key, so that nobody takes them."""
    frames = _day(spark, events // 2, folder)
    key = F.col("correlation_key")
    slips = [F.upper(key), F.concat(key, F.lit(" ")), F.regexp_replace(key, "^[a-z]+-", "")]
    number = F.pmod(F.xxhash64("position", F.lit(7)), F.lit(100))
    slipped = F.when(number == 0, slips[0]).when(number == 1, slips[1]).when(number == 2, slips[2]).otherwise(key)
    frames["messages"] = frames["messages"].withColumn("correlation_key", slipped)
    return Mix(_stored(frames, folder), {})


_AT = {"messages": "published_at", "subscriptions": "opened_at"}


def _day(spark: SparkSession, n: int, folder: Path) -> Frames:
    """The example's tables, in the order in which they were made."""
    write_tables(folder / "made", n)
    return {name: spark.read.parquet(str(folder / "made" / name)) for name in TABLES}


def _waiting(frames: Frames) -> Frames:
    """Messages and subscriptions spread over a day, so that at noon half of them still wait."""
    message, subscription = frames["messages"], frames["subscriptions"]
    long = message.withColumn("ttl_ms", F.lit(48 * 3_600_000).cast("bigint"))
    # Half of the pairs are torn apart by twelve hours: what comes in the morning waits for the afternoon.
    torn = F.pmod(F.xxhash64("correlation_key"), F.lit(2)) == 0
    moved = F.timestamp_micros(
        F.unix_micros("published_at") + F.when(torn, 12 * 3_600 * 1_000_000).otherwise(0).cast("bigint")
    )
    return {
        "messages": long.withColumn("published_at", moved),
        "subscriptions": subscription.withColumn("closed_at", F.lit(None).cast("timestamp")),
    }


def _stored(frames: Frames, folder: Path) -> Frames:
    for name, frame in frames.items():
        frame.orderBy(F.xxhash64(*frame.columns)).write.mode("overwrite").parquet(str(folder / name))
    spark = next(iter(frames.values())).sparkSession
    return {name: spark.read.parquet(str(folder / name)) for name in frames}


MIXES: dict[str, Callable[[SparkSession, int, Path], Mix]] = {
    "the example's day": example,
    "as_of given": as_of_given,
    "profile correlate": profile_correlate,
    "a second day": second_day,
    "ten rows a key": ten_rows_a_key,
    "fifty start versions": fifty_start_versions,
    "half after as_of": half_later,
    "times as texts": times_as_texts,
    "20% on one key": hot_key,
}

"""Who waits, how long already, and what has arrived for them: which instances could be helped by publishing again."""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from conjoin.pipeline.report.figures import AGES_MS, LongWait, Waiting
from conjoin.pipeline.report.frames import PLACE, Frames, age_counts, counted, is_lost, is_open

MOST_WAITS = 10
"""Of each name."""


def who_waits(frames: Frames) -> DataFrame:
    """Open subscriptions, each with what has arrived for it. Used twice, and small beside the messages: keep it."""
    waiting = frames.subscriptions.filter(is_open())
    exact = frames.messages.groupBy(*PLACE).agg(
        counted(is_lost()).alias("lost"),
        counted(F.col("verdict") == "buffered").alias("kept"),
        counted(F.col("verdict").isin("correlated", "short")).alias("taken"),
    )
    nearly = _by_blurred_key(frames.messages.filter(is_lost() | (F.col("verdict") == "buffered")))
    similar = nearly.groupBy("tenant_id", "name", "blurred").agg(F.count("*").alias("similar"))
    joined = waiting.join(exact, list(PLACE), "left")
    joined = _by_blurred_key(joined).join(similar, ["tenant_id", "name", "blurred"], "left")
    age = F.lit(frames.as_of_us) - F.col("opened_us")
    return joined.withColumn("arrived", _arrived()).withColumn("age_us", age)


def waiting(frames: Frames, who: DataFrame, older_than_ms: int) -> tuple[Waiting, ...]:
    groups = frames.of_names(who).groupBy("name", "process_id", "element_id", "arrived")
    long = counted(F.col("age_us") >= F.lit(older_than_ms * 1_000)).alias("long")
    rows = groups.agg(*age_counts(F.col("age_us"), AGES_MS), long).collect()
    found = [
        Waiting(name, process_id, element_id, arrived, tuple(ages), old)
        for name, process_id, element_id, arrived, *ages, old in rows
    ]
    return tuple(sorted(found, key=lambda row: (-row.long, row.name or "", row.process_id, row.element_id)))


def long_waits(frames: Frames, who: DataFrame, older_than_ms: int) -> tuple[LongWait, ...]:
    """The oldest of each name."""
    old = frames.of_names(who.filter(F.col("age_us") >= F.lit(older_than_ms * 1_000)))
    order = Window.partitionBy("name").orderBy("opened_us", "instance_key", "element_id")
    oldest = old.withColumn("place", F.row_number().over(order)).filter(F.col("place") <= MOST_WAITS)
    columns = ("name", "process_id", "element_id", "instance_key", "tenant_id", "correlation_key", "opened_us")
    found = [LongWait(*row) for row in oldest.select(*columns, "arrived").collect()]
    return tuple(sorted(found, key=lambda row: (row.since_us, row.instance_key)))


def _arrived() -> Column:
    """What can be mended by publishing again comes first."""
    found = F.when(F.col("lost") > 0, "lost").when(F.col("kept") > 0, "kept").when(F.col("taken") > 0, "taken")
    return found.when(F.col("similar") > 0, "other_key").otherwise("nothing")


def _by_blurred_key(rows: DataFrame) -> DataFrame:
    """Keys that differ in case or blanks only are the same."""
    return rows.withColumn("blurred", F.lower(F.regexp_replace("correlation_key", r"\s", "")))

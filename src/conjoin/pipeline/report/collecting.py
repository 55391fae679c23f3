"""All figures of a store, computed by Spark through the data source; only sums and short lists are collected.

Messages and subscriptions are read without their payload, each once, with instants as microseconds: counting by them
needs no time zone. What several figures need is kept by Spark until the report is made.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from conjoin.pipeline.report import figures as f
from conjoin.pipeline.report.figures import AGES_MS, LADDER_MS, ReportFigures
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.source import register, store_table
from conjoin.pipeline.source.options import check_store

_MESSAGE = "key,tenant_id,name,correlation_key,business_id,published_at,deadline_at,verdict,reason,decided_at"
_SUBSCRIPTION = "tenant_id,name,correlation_key,business_id,process_id,instance_key,element_id,state,opened_at"
KEY = ("tenant_id", "name", "correlation_key")


class Frames(NamedTuple):
    """`names` are those that get figures of their own; all others are counted together, as null."""

    messages: DataFrame
    subscriptions: DataFrame
    instances: DataFrame
    incidents: DataFrame
    as_of_us: int
    names: Sequence[str] = ()

    def of_names(self, rows: DataFrame) -> DataFrame:
        return rows.withColumn("name", F.when(F.col("name").isin(list(self.names)), F.col("name")))


@contextmanager
def opened_frames(spark: SparkSession, address: str, as_of_us: int) -> Iterator[Frames]:
    register(spark)

    def read(table: str, columns: str, **options: str) -> DataFrame:
        return _in_microseconds(store_table(spark, address, table, columns=columns, **options))

    messages, subscriptions = read("messages", _MESSAGE).persist(), read("subscriptions", _SUBSCRIPTION).persist()
    active = read("instances", "key", where="state = 'active'")
    try:
        yield Frames(messages, subscriptions, active, read("incidents", "key"), as_of_us)
    finally:
        messages.unpersist()
        subscriptions.unpersist()


def is_lost() -> Column:
    """Nobody took it, and nobody can any more."""
    gone = F.col("verdict").isin("expired", "discarded")
    return gone | ((F.col("verdict") == "refused") & (F.col("reason") == "not_found"))


def is_open() -> Column:
    return F.col("state") != "closed"


def counted(condition: Column) -> Column:
    """How many rows meet it; none of nothing is 0."""
    return F.count(F.when(condition, F.lit(1)))


def age_counts(age_us: Column, edges_ms: Sequence[int]) -> list[Column]:
    """A count below each edge and not below the one before, then the rest: columns `age_0`, `age_1`, ..."""
    edges = [edge * 1_000 for edge in edges_ms]
    found = []
    for index, (low, high) in enumerate(zip([None, *edges], [*edges, None], strict=True)):
        inside = F.lit(True) if low is None else age_us >= F.lit(low)
        inside = inside if high is None else inside & (age_us < F.lit(high))
        found.append(counted(inside).alias(f"age_{index}"))
    return found


def _in_microseconds(rows: DataFrame) -> DataFrame:
    """`published_at` becomes `published_us`."""
    return rows.select(
        *(
            F.unix_micros(name).alias(f"{name.removesuffix('_at')}_us") if name.endswith("_at") else F.col(name)
            for name in rows.columns
        )
    )


MOST_NAMES = 12
MOST_KEYS = 5
"""Of each name."""
_MOST_BARS = 200
_HOUR_US = 3_600_000_000
_WIDTHS_US = tuple(hours * _HOUR_US for hours in (1, 6, 24, 7 * 24, 30 * 24))


def names_of(frames: Frames) -> list[str]:
    """The names with the most messages and waiting subscriptions."""
    found = _volumes(frames).orderBy(F.desc(F.col("messages") + F.col("waiting")), "name").limit(MOST_NAMES)
    return [row["name"] for row in found.collect()]


def volumes(frames: Frames) -> tuple[f.Volume, ...]:
    summed = frames.of_names(_volumes(frames)).groupBy("name").agg(F.sum("messages"), F.sum("waiting"))
    order = {name: rank for rank, name in enumerate(frames.names)}
    found = [f.Volume(*row) for row in summed.collect()]
    return tuple(sorted(found, key=lambda row: order.get(row.name or "", len(order) + (row.name is None))))


def _volumes(frames: Frames) -> DataFrame:
    one, none = F.lit(1).alias("messages"), F.lit(0)
    messages = frames.messages.select("name", one, none.alias("waiting"))
    waiting = frames.subscriptions.filter(is_open()).select("name", none.alias("messages"), F.lit(1).alias("waiting"))
    counts = messages.union(waiting).groupBy("name")
    return counts.agg(F.sum("messages").alias("messages"), F.sum("waiting").alias("waiting"))


def still_open(frames: Frames) -> dict[str, int]:
    """Active instances and open incidents, in one job."""
    instances = frames.instances.select(F.lit("instances").alias("what"))
    incidents = frames.incidents.select(F.lit("incidents").alias("what"))
    counts = instances.union(incidents).groupBy("what").count().collect()
    return {"instances": 0, "incidents": 0} | dict(map(tuple, counts))


def width_us(frames: Frames) -> int:
    """An hour, unless that would make too many bars to look at."""
    found = frames.messages.agg(F.min("published_us").alias("first"), F.max("published_us").alias("last")).first()
    if found is None or found["first"] is None:
        return _HOUR_US
    span = found["last"] - found["first"]
    return next((width for width in _WIDTHS_US if span < _MOST_BARS * width), span)


def hourly(frames: Frames, width: int) -> tuple[f.Hourly, ...]:
    at = (F.floor(F.col("published_us") / F.lit(width)) * F.lit(width)).cast("long").alias("at_us")
    groups = frames.of_names(frames.messages).groupBy("name", at, "verdict", "reason")
    return tuple(sorted((f.Hourly(*row) for row in groups.agg(F.count("*")).collect()), key=lambda row: row.at_us))


def kept(frames: Frames) -> tuple[f.BufferedFigures, ...]:
    messages = frames.of_names(frames.messages.filter(F.col("verdict") == "buffered"))
    age = F.lit(frames.as_of_us) - F.col("published_us")
    found = messages.groupBy("name").agg(
        *age_counts(age, AGES_MS),
        counted(F.col("deadline_us") <= F.lit(frames.as_of_us)),
        F.percentile_approx(age, 0.5),
        F.max(age),
    )
    return tuple(
        f.BufferedFigures(name, tuple(ages), overdue, median // 1_000, oldest // 1_000)
        for name, *ages, overdue, median, oldest in found.collect()
    )


def hot_keys(frames: Frames) -> tuple[f.HotKey, ...]:
    """Only keys with more than one message: the rest is as it should be."""
    by_key = frames.messages.filter(F.col("correlation_key") != "").groupBy(*KEY)
    counts = by_key.agg(
        F.count("*").alias("messages"),
        counted(F.col("verdict") == "correlated").alias("correlated"),
        counted(is_lost()).alias("lost"),
    )
    folded = frames.of_names(counts.filter("messages > 1"))
    order = Window.partitionBy("name").orderBy(F.desc("messages"), "tenant_id", "correlation_key")
    busiest = folded.withColumn("rank", F.row_number().over(order)).filter(F.col("rank") <= MOST_KEYS)
    rows = busiest.select("name", "tenant_id", "correlation_key", "messages", "correlated", "lost").collect()
    found = (f.HotKey(*row) for row in rows)
    return tuple(sorted(found, key=lambda row: (-row.messages, row.name or "", row.tenant_id, row.key)))


_KEPT_AND_TAKEN = ("waiting_instance_later", "started_after_lock", "given_back_and_taken")
_MOST = 0.95


def waited(frames: Frames) -> tuple[f.Waited, ...]:
    """How long messages waited that were kept and taken."""
    taken = frames.messages.filter((F.col("verdict") == "correlated") & F.col("reason").isin(*_KEPT_AND_TAKEN))
    gap = F.col("decided_us") - F.col("published_us")
    groups = frames.of_names(taken).groupBy("name")
    found = groups.agg(F.count("*"), F.percentile_approx(gap, [0.5, _MOST]), F.max(gap))
    return tuple(
        f.Waited(name, count, median // 1_000, most // 1_000, longest // 1_000)
        for name, count, (median, most), longest in found.collect()
    )


def lost(frames: Frames) -> tuple[f.LostFigures, ...]:
    """Those that expired for want of somebody who waits, or were not to be kept at all.

    A lost message is missed by the next subscription to its name and key. Of subscriptions only the open ones and the
    last that closed are known, and each could have taken one message only: it is paired with the latest that was lost
    before. So more may have been saved than is counted here, and never fewer.
    """
    reasons = F.col("reason").isin("nobody_waited", "ttl_zero")
    gone = frames.messages.filter(F.col("verdict").isin("expired", "discarded") & reasons)
    had = F.coalesce("deadline_us", "published_us") - F.col("published_us")
    counts = frames.of_names(gone).groupBy("name").agg(F.count("*"), F.percentile_approx(had, 0.5)).collect()
    missed = frames.of_names(_missed(gone, frames.subscriptions)).groupBy("name")
    # A message is gone at its deadline: to be there, its time to live must be longer than the gap.
    steps = [counted(F.col("gap_us") < F.lit(step * 1_000)).alias(f"step_{step}") for step in LADDER_MS]
    saved = {name: tuple(its) for name, *its in missed.agg(*steps).collect()}
    none = (0,) * len(LADDER_MS)
    found = [f.LostFigures(name, count, had_us // 1_000, saved.get(name, none)) for name, count, had_us in counts]
    return tuple(sorted(found, key=lambda row: -row.messages))


def _missed(gone: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Lost messages for which somebody began to wait later, each once, with the gap from its publication."""
    message = F.struct("key", "published_us", "deadline_us", "business_id").alias("message")
    published = gone.select(*KEY, F.col("published_us").alias("at_us"), F.lit(1).alias("kind"), message)
    opened = subscriptions.select(
        *KEY, F.col("opened_us").alias("at_us"), F.lit(0).alias("kind"), F.col("business_id").alias("waits_for")
    )
    both = published.unionByName(opened, allowMissingColumns=True)
    # Who begins to wait at the instant of publication stands before the message: it was asked then.
    before = Window.partitionBy(*KEY).orderBy("at_us", "kind").rowsBetween(Window.unboundedPreceding, 0)
    paired = both.withColumn("message", F.last("message", ignorenulls=True).over(before)).filter("kind = 0")
    gap = F.min(F.col("at_us") - F.col("message.published_us")).alias("gap_us")
    fits = (F.col("message.business_id") == "") | (F.col("message.business_id") == F.col("waits_for"))
    missed = paired.filter(fits & (F.col("message.deadline_us") <= F.col("at_us")))
    return missed.groupBy("name", "message.key").agg(gap)


MOST_WAITS = 10
"""Of each name."""


def who_waits(frames: Frames) -> DataFrame:
    """Open subscriptions, each with what has arrived for it. Used twice, and small beside the messages: keep it."""
    waiting = frames.subscriptions.filter(is_open())
    exact = frames.messages.groupBy(*KEY).agg(
        counted(is_lost()).alias("lost"),
        counted(F.col("verdict") == "buffered").alias("kept"),
        counted(F.col("verdict").isin("correlated", "short")).alias("taken"),
    )
    nearly = _by_blurred_key(frames.messages.filter(is_lost() | (F.col("verdict") == "buffered")))
    similar = nearly.groupBy("tenant_id", "name", "blurred").agg(F.count("*").alias("similar"))
    joined = waiting.join(exact, list(KEY), "left")
    joined = _by_blurred_key(joined).join(similar, ["tenant_id", "name", "blurred"], "left")
    age = F.lit(frames.as_of_us) - F.col("opened_us")
    return joined.withColumn("arrived", _arrived()).withColumn("age_us", age)


def waiting(frames: Frames, who: DataFrame, older_than_ms: int) -> tuple[f.Waiting, ...]:
    groups = frames.of_names(who).groupBy("name", "process_id", "element_id", "arrived")
    long = counted(F.col("age_us") >= F.lit(older_than_ms * 1_000)).alias("long")
    rows = groups.agg(*age_counts(F.col("age_us"), AGES_MS), long).collect()
    found = [
        f.Waiting(name, process_id, element_id, arrived, tuple(ages), old)
        for name, process_id, element_id, arrived, *ages, old in rows
    ]
    return tuple(sorted(found, key=lambda row: (-row.long, row.name or "", row.process_id, row.element_id)))


def long_waits(frames: Frames, who: DataFrame, older_than_ms: int) -> tuple[f.LongWait, ...]:
    """The oldest of each name."""
    old = frames.of_names(who.filter(F.col("age_us") >= F.lit(older_than_ms * 1_000)))
    order = Window.partitionBy("name").orderBy("opened_us", "instance_key", "element_id")
    oldest = old.withColumn("rank", F.row_number().over(order)).filter(F.col("rank") <= MOST_WAITS)
    columns = ("name", "process_id", "element_id", "instance_key", "tenant_id", "correlation_key", "opened_us")
    found = [f.LongWait(*row) for row in oldest.select(*columns, "arrived").collect()]
    return tuple(sorted(found, key=lambda row: (row.since_us, row.instance_key)))


def _arrived() -> Column:
    """What can be mended by publishing again comes first."""
    found = F.when(F.col("lost") > 0, "lost").when(F.col("kept") > 0, "kept").when(F.col("taken") > 0, "taken")
    return found.when(F.col("similar") > 0, "other_key").otherwise("nothing")


def _by_blurred_key(rows: DataFrame) -> DataFrame:
    """Keys that differ in case or blanks only are the same."""
    return rows.withColumn("blurred", F.lower(F.regexp_replace("correlation_key", r"\s", "")))


def collect_figures(
    spark: SparkSession, address: str, as_of_us: int, older_than_ms: int, step: Step = lambda text: None
) -> ReportFigures:
    """Ages are those at an instant; `older_than_ms` is how long somebody waits before the report asks why."""
    check_store(address)
    with spark_errors(), opened_frames(spark, address, as_of_us) as frames:
        step("reading messages and subscriptions")
        frames = frames._replace(names=names_of(frames))
        step("counting verdicts")
        width, still = width_us(frames), still_open(frames)
        counts = (volumes(frames), hourly(frames, width), kept(frames))
        step("looking for hot keys")
        keys = hot_keys(frames)
        step("judging times to live")
        gaps = (waited(frames), lost(frames))
        step("asking who waits, and what arrived")
        who = who_waits(frames).persist()
        waits = (waiting(frames, who, older_than_ms), long_waits(frames, who, older_than_ms))
        who.unpersist()
        facts = (as_of_us, older_than_ms, width, still["instances"], still["incidents"])
        return ReportFigures(*facts, *counts, keys, *gaps, *waits)

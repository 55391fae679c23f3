"""Times to live, judged by the gaps that were really seen: how long messages waited, and by how much they were missed.

A message that was lost is missed by whoever next began to wait for its name and key. Of those who waited only the open
ones and the last that closed are known, and each could have taken one message only: it is paired with the latest that
was lost before. So more may have been saved than is counted here, and never fewer.
"""

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from conjoin.pipeline.report.figures import LADDER_MS, LostFigures, Waited
from conjoin.pipeline.report.frames import PLACE, Frames, counted

_KEPT_AND_TAKEN = ("waiting_instance_later", "started_after_lock", "given_back_and_taken")
_MOST = 0.95


def waited(frames: Frames) -> tuple[Waited, ...]:
    taken = frames.messages.filter((F.col("verdict") == "correlated") & F.col("reason").isin(*_KEPT_AND_TAKEN))
    gap = F.col("decided_us") - F.col("published_us")
    groups = frames.of_names(taken).groupBy("name")
    found = groups.agg(F.count("*"), F.percentile_approx(gap, [0.5, _MOST]), F.max(gap))
    return tuple(
        Waited(name, count, median // 1_000, most // 1_000, longest // 1_000)
        for name, count, (median, most), longest in found.collect()
    )


def lost(frames: Frames) -> tuple[LostFigures, ...]:
    """Those that expired for want of somebody who waits, or were not to be kept at all."""
    reasons = F.col("reason").isin("nobody_waited", "ttl_zero")
    gone = frames.messages.filter(F.col("verdict").isin("expired", "discarded") & reasons)
    had = F.coalesce("deadline_us", "published_us") - F.col("published_us")
    counts = frames.of_names(gone).groupBy("name").agg(F.count("*"), F.percentile_approx(had, 0.5)).collect()
    missed = frames.of_names(_missed(gone, frames.subscriptions)).groupBy("name")
    # A message is gone at its deadline: to be there, its time to live must be longer than the gap.
    steps = [counted(F.col("gap_us") < F.lit(step * 1_000)).alias(f"step_{step}") for step in LADDER_MS]
    saved = {name: tuple(its) for name, *its in missed.agg(*steps).collect()}
    none = (0,) * len(LADDER_MS)
    found = [LostFigures(name, count, had_us // 1_000, saved.get(name, none)) for name, count, had_us in counts]
    return tuple(sorted(found, key=lambda row: -row.messages))


def _missed(gone: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Lost messages for which somebody began to wait later, each once, with the gap from its publication."""
    message = F.struct("key", "published_us", "deadline_us", "business_id").alias("message")
    published = gone.select(*PLACE, F.col("published_us").alias("at_us"), F.lit(1).alias("kind"), message)
    opened = subscriptions.select(
        *PLACE, F.col("opened_us").alias("at_us"), F.lit(0).alias("kind"), F.col("business_id").alias("waits_for")
    )
    both = published.unionByName(opened, allowMissingColumns=True)
    # Who begins to wait at the instant of publication stands before the message: it was asked then.
    before = Window.partitionBy(*PLACE).orderBy("at_us", "kind").rowsBetween(Window.unboundedPreceding, 0)
    paired = both.withColumn("message", F.last("message", ignorenulls=True).over(before)).filter("kind = 0")
    gap = F.min(F.col("at_us") - F.col("message.published_us")).alias("gap_us")
    return paired.filter(_was_missed()).groupBy("name", "message.key").agg(gap)


def _was_missed() -> Column:
    fits = (F.col("message.business_id") == "") | (F.col("message.business_id") == F.col("waits_for"))
    return fits & (F.col("message.deadline_us") <= F.col("at_us"))

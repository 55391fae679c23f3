"""Figures by counting messages: the busiest names, verdicts by hour, what is kept, and the busiest keys."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from conjoin.pipeline.report.figures import AGES_MS, BufferedFigures, HotKey, Hourly, Name, Volume
from conjoin.pipeline.report.frames import PLACE, Frames, age_counts, counted, is_lost, is_open

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


def volumes(frames: Frames) -> tuple[Volume, ...]:
    summed = frames.of_names(_volumes(frames)).groupBy("name").agg(F.sum("messages"), F.sum("waiting"))
    order = {name: place for place, name in enumerate(frames.names)}
    found = [Volume(*row) for row in summed.collect()]
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


def hourly(frames: Frames, width: int) -> tuple[Hourly, ...]:
    at = (F.floor(F.col("published_us") / F.lit(width)) * F.lit(width)).cast("long").alias("at_us")
    groups = frames.of_names(frames.messages).groupBy("name", at, "verdict", "reason")
    return tuple(sorted((Hourly(*row) for row in groups.agg(F.count("*")).collect()), key=lambda row: row.at_us))


def kept(frames: Frames) -> tuple[BufferedFigures, ...]:
    messages = frames.of_names(frames.messages.filter(F.col("verdict") == "buffered"))
    age = F.lit(frames.as_of_us) - F.col("published_us")
    found = messages.groupBy("name").agg(
        *age_counts(age, AGES_MS),
        counted(F.col("deadline_us") <= F.lit(frames.as_of_us)),
        F.percentile_approx(age, 0.5),
        F.max(age),
    )
    return tuple(
        BufferedFigures(name, tuple(ages), overdue, median // 1_000, oldest // 1_000)
        for name, *ages, overdue, median, oldest in found.collect()
    )


def hot_keys(frames: Frames) -> tuple[HotKey, ...]:
    """Only keys with more than one message: the rest is as it should be."""
    by_key = frames.messages.filter(F.col("correlation_key") != "").groupBy(*PLACE)
    counts = by_key.agg(
        F.count("*").alias("messages"),
        counted(F.col("verdict") == "correlated").alias("correlated"),
        counted(is_lost()).alias("lost"),
    )
    folded = frames.of_names(counts.filter("messages > 1"))
    order = Window.partitionBy("name").orderBy(F.desc("messages"), "tenant_id", "correlation_key")
    busiest = folded.withColumn("place", F.row_number().over(order)).filter(F.col("place") <= MOST_KEYS)
    rows = busiest.select("name", "tenant_id", "correlation_key", "messages", "correlated", "lost").collect()
    return tuple(sorted((HotKey(*row) for row in rows), key=_busiest_first))


def _busiest_first(row: HotKey) -> tuple[int, Name, str, str]:
    return (-row.messages, row.name or "", row.tenant_id, row.key)

"""Who is measured: `correlate` with all its outputs written, two bare joins, and the peer that a good engineer writes.

The joins know nothing of time to live, ids, cardinality, locks or reasons. The peer delivers the same tables: a verdict
for each message with time to live and ids, pairs, leftovers of both sides, dead letters. It is honest, not right: it
knows no start events, no second process for a message, no reasons, no details and no chain of days.
"""

from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from conjoin.pipeline.correlate import correlate

ON = ["name", "correlation_key"]

Frames = dict[str, DataFrame]


def correlated(frames: Frames, out: Path, **more: object) -> None:
    """All eight tables of the fold; near misses on other keys, which no join looks for, have a row of their own."""
    more = {"near": False} | more
    with correlate(**frames, **more) as result:  # type: ignore[arg-type]
        result.write(str(out))


def rank_join(frames: Frames, out: Path) -> None:
    """First message to first subscription, second to second, by name and key."""
    in_time = {"messages": "published_at", "subscriptions": "opened_at"}
    ranked = {
        name: frames[name].withColumn("rank", F.row_number().over(Window.partitionBy(*ON).orderBy(at)))
        for name, at in in_time.items()
    }
    ranked["messages"].join(ranked["subscriptions"], [*ON, "rank"]).write.parquet(str(out / "rank"))


def equi_join(frames: Frames, out: Path) -> None:
    frames["messages"].join(frames["subscriptions"], ON).write.parquet(str(out / "equi"))


def peer(frames: Frames, out: Path) -> None:
    """The same tables by window functions and one full outer join, cached once and written five times."""
    messages = frames["messages"].withColumn("ttl_ms", F.coalesce("ttl_ms", F.lit(0)))
    good = (
        F.col("name").isNotNull()
        & F.col("published_at").isNotNull()
        & (F.get_json_object("variables", "$").startswith("{") | F.col("variables").isNull())
    )
    checked = messages.withColumn("good", F.coalesce(good, F.lit(False)))
    deadline = F.col("published_at") + F.make_dt_interval(secs=F.col("ttl_ms") / 1000)
    same_id = Window.partitionBy(*ON, "message_id").orderBy("published_at", "position")
    earlier = F.lag(deadline).over(same_id)
    valid = checked.where("good").withColumn("deadline", deadline)
    valid = valid.withColumn("duplicate", F.coalesce(earlier > F.col("published_at"), F.lit(False)))
    in_turn = Window.partitionBy(*ON, "duplicate").orderBy("published_at", "position")
    ranked = valid.withColumn("rank", F.when(~F.col("duplicate"), F.row_number().over(in_turn)))
    waiting = frames["subscriptions"].withColumn(
        "rank", F.row_number().over(Window.partitionBy(*ON).orderBy("opened_at", "subscription_id"))
    )
    as_of = F.lit(frames["messages"].agg(F.max("published_at")).head()[0])  # type: ignore[index]
    met = (F.col("deadline") > F.col("opened_at")) | (F.col("published_at") >= F.col("opened_at"))
    is_open = F.col("closed_at").isNull() | (F.col("closed_at") > F.col("published_at"))
    joined = ranked.join(waiting, [*ON, "rank"], "full_outer")
    taken = F.coalesce(
        F.col("position").isNotNull() & F.col("subscription_id").isNotNull() & met & is_open, F.lit(False)
    )
    verdict = (
        F.when(F.col("duplicate"), "refused")
        .when(F.col("taken"), "correlated")
        .when(F.col("deadline") > as_of, "buffered")
        .when(F.col("ttl_ms") <= 0, "discarded")
        .otherwise("expired")
    )
    told = joined.withColumn("taken", taken).withColumn("verdict", verdict).persist(StorageLevel.MEMORY_AND_DISK)
    own = frames["messages"].columns
    theirs = [name for name in frames["subscriptions"].columns if name not in ON]
    told.where("position is not null").select(*own, "verdict").write.parquet(str(out / "verdicts"))
    told.where("taken").select("position", "message_id", *ON, *theirs).write.parquet(str(out / "correlations"))
    told.where("verdict = 'buffered'").select(*own).write.parquet(str(out / "buffered"))
    left = told.where("subscription_id is not null and not taken").where(
        F.col("closed_at").isNull() | (F.col("closed_at") > as_of)
    )
    left.select(*ON, *theirs).write.parquet(str(out / "open"))
    dead = checked.where("not good").select(F.to_json(F.struct(*own)).alias("row"))
    dead.write.parquet(str(out / "dead_letters"))
    told.unpersist()

"""The tables of the example, for any number of messages, made by Spark alone and the same every time.

Row number i belongs to place i % 100 of block i // 100; the blocks are spread over one day. A few rows in a thousand
are broken on purpose and must end as dead letters.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from examples.order_to_cash.cases import ENDED_S, ENDING, PLACED, PLACES, SHOP, cases

DAY_US = 24 * 3_600 * 1_000_000
BEGIN_US = 1_772_438_400_000_000
"""2026-03-02T08:00:00Z"""

BROKEN_EVERY = 1_000
NO_TIME, NO_JSON = 99, 199
"""Of every thousand messages these two are broken: one has no time, one no JSON object as its variables."""

_MESSAGE = "place int, at_s long, name string, ttl_ms long, order_place long, id_place long, key string"
_SUBSCRIPTION = (
    "place int, opened_s long, closed_s long, name string, process_id string, order_place long, interrupting boolean"
)


def tables(spark: SparkSession, n: int) -> dict[str, DataFrame]:
    """`messages` and `subscriptions` of n rows each, with the `starts` and `ends` that go with them."""
    return {
        "messages": _messages(spark, n),
        "subscriptions": _subscriptions(spark, n),
        "starts": spark.createDataFrame(
            [(SHOP, PLACED, "order-placed")], "process_id string, name string, element_id string"
        ),
        "ends": _ends(spark, n),
    }


def _messages(spark: SparkSession, n: int) -> DataFrame:
    plan = [
        (
            place,
            m.at_s,
            m.name,
            m.ttl_ms,
            place if m.order is None else m.order,
            place if m.copy_of is None else m.copy_of,
            m.key,
        )
        for place, m in enumerate(case.message for case in cases())
    ]
    rows = _planned(spark, n, plan, _MESSAGE)
    number = F.col("i")
    broken = number % BROKEN_EVERY
    order = _order_of("order_place")
    variables = F.format_string('{"orderId":"order-%d","amount":%d.90,"currency":"EUR"}', order, 10 + number % 490)
    return rows.select(
        "name",
        F.replace("key", F.lit("{}"), order.cast("string")).alias("correlation_key"),
        F.when(broken != NO_TIME, _instant(n, "at_s")).alias("published_at"),
        F.concat(F.lit("m-"), _order_of("id_place").cast("string")).alias("message_id"),
        "ttl_ms",
        F.when(broken == NO_JSON, F.lit("[]")).otherwise(variables).alias("variables"),
        number.alias("position"),
    )


def _subscriptions(spark: SparkSession, n: int) -> DataFrame:
    plan = [
        (place, s.opened_s, s.closed_s, s.name, s.process, place if s.order is None else s.order, s.interrupting)
        for place, s in enumerate(case.subscription for case in cases())
    ]
    rows = _planned(spark, n, plan, _SUBSCRIPTION)
    number = F.col("i").cast("string")
    return rows.select(
        "process_id",
        "name",
        F.concat(F.lit("order-"), _order_of("order_place").cast("string")).alias("correlation_key"),
        _instant(n, "opened_s").alias("opened_at"),
        _instant(n, "closed_s").alias("closed_at"),
        F.concat(F.lit("s-"), number).alias("subscription_id"),
        F.concat(F.lit("i-"), number).alias("instance_id"),
        F.lower(F.replace("name", F.lit(" "), F.lit("-"))).alias("element_id"),
        "interrupting",
    )


def _ends(spark: SparkSession, n: int) -> DataFrame:
    blocks = spark.range((n + PLACES - 1 - ENDING) // PLACES).select((F.col("id") * PLACES + ENDING).alias("i"))
    at = blocks.select("i", (F.col("i") % PLACES).alias("place"), F.lit(ENDED_S).alias("ended_s"))
    return at.select(
        F.lit(SHOP).alias("process_id"),
        F.concat(F.lit("order-"), F.col("i").cast("string")).alias("correlation_key"),
        _instant(n, "ended_s").alias("ended_at"),
    )


def _planned(spark: SparkSession, n: int, plan: Sequence[tuple[object, ...]], schema: str) -> DataFrame:
    """Each row number beside the plan of its place."""
    numbers = spark.range(n).select(F.col("id").alias("i"), (F.col("id") % PLACES).cast("int").alias("place"))
    return numbers.join(F.broadcast(spark.createDataFrame(plan, schema)), "place")


def _order_of(place: str) -> Column:
    """The number of the order at another place of the same block."""
    return F.col("i") - F.col("place") + F.col(place)


def _instant(n: int, seconds: str) -> Column:
    """Seconds after the block's begin; the places of a block follow each other by a second."""
    blocks = (n + PLACES - 1) // PLACES
    begin = F.lit(BEGIN_US) + F.floor(F.col("i") / PLACES) * (DAY_US // max(blocks, 1)) + F.col("place") * 1_000_000
    return F.timestamp_micros((begin + F.col(seconds) * 1_000_000).cast("bigint"))

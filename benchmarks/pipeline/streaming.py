"""Streaming correlate: batches of 100,000 rows over 1,000,000 subscriptions that wait, as a stream of Parquet files.

Half of a batch opens subscriptions, half are messages for those of the batch before, so that the state keeps its size.
A message may still be taken by others for a minute, so that it gets its verdict in the batch that comes next.
All buckets are touched, or one in a hundred of them. What counts is a batch from its beginning to its commit, with
Spark's own work around it; the first one, which compiles Spark's code, does not.
"""

from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from benchmarks.meter import Meter
from conjoin.pipeline.streaming import BatchReport, correlate_stream
from conjoin.pipeline.streaming.stream import BUCKETS

ROWS, OPEN = 100_000, 1_000_000
_BATCHES, _WARM = 5, 2
_EPOCH = "timestamp '2026-01-01 00:00:00Z'"
_WAITING = (
    "'order' as process_id",
    "'Paid' as name",
    "concat('order-', k) as correlation_key",
    f"{_EPOCH} + make_interval(0, 0, 0, 0, 0, batch, (row % 1000) / 100) as opened_at",
    "concat('s-', k) as subscription_id",
    "concat('i-', k) as instance_id",
    "'paid' as element_id",
)
_MESSAGES = (
    "batch * 1000000L + row as position",
    "'Paid' as name",
    "concat('order-', k) as correlation_key",
    f"{_EPOCH} + make_interval(0, 0, 0, 0, 0, batch, 30 + (row % 1000) / 100) as published_at",
    "60000L as ttl_ms",
    """concat('{"amount": ', k % 1000, ', "currency": "EUR", "channel": "bank transfer"}') as variables""",
)

Keys = Callable[[int, int], DataFrame]
"""So many rows (k, row) of a batch: keys that no other batch has."""


def all_touched(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Keys of a batch lie in all buckets."""

    def keys(batch: int, count: int) -> DataFrame:
        first = OPEN + batch * ROWS
        return spark.range(first, first + count, 1, 2).selectExpr("id as k", f"id - {first} as row")

    return _measured(spark, folder / "all", keys)


def few_touched(spark: SparkSession, folder: Path) -> dict[str, Any]:
    """Keys of a batch lie in one bucket in a hundred; the others hold what they hold."""
    some = max(1, BUCKETS // 100)

    def keys(batch: int, count: int) -> DataFrame:
        first = OPEN + batch * ROWS * BUCKETS
        bucket = f"pmod(xxhash64(concat('order-', id)), {BUCKETS})"
        found = spark.range(first, first + 2 * count * BUCKETS // some, 1, 2).where(f"{bucket} < {some}").limit(count)
        return found.selectExpr("id as k", "row_number() over (order by id) as row")

    return _measured(spark, folder / "few", keys)


def _measured(spark: SparkSession, folder: Path, keys: Keys) -> dict[str, Any]:
    for batch in range(_WARM + _BATCHES):
        _write(spark, folder, keys, batch)
    waits = spark.range(0, OPEN, 1, 4).selectExpr("id as k", "id as row", "-60 as batch").selectExpr(*_WAITING)
    waits.write.parquet(str(folder / "before"))
    streams = {}
    for table in ("messages", "subscriptions"):
        files = str(folder / table)
        schema = spark.read.parquet(files).schema
        streams[table] = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(files)
    stream = correlate_stream(**streams, state=str(folder / "state"), out=str(folder / "out"))
    stream.begin_with({"subscriptions": spark.read.parquet(str(folder / "before"))})
    told: list[tuple[BatchReport, Meter]] = []
    meter = Meter().__enter__()

    def done(report: BatchReport) -> None:
        nonlocal meter
        meter.__exit__(None, None, None)
        told.append((report, meter))
        meter = Meter().__enter__()

    stream.start(once=True, on_batch=done).awaitTermination()
    return _figures(told[_WARM:])


def _write(spark: SparkSession, folder: Path, keys: Keys, batch: int) -> None:
    """A file of each table. Messages are for the subscriptions of the batch before."""
    half = ROWS // 2
    tables = {"subscriptions": (_WAITING, batch), "messages": (_MESSAGES, batch - 1)}
    for table, (columns, of) in tables.items():
        rows = keys(of, half).selectExpr("*", f"{batch} as batch").selectExpr(*columns)
        rows.coalesce(1).write.mode("append").parquet(str(folder / table))


def _figures(told: list[tuple[BatchReport, Meter]]) -> dict[str, Any]:
    last, _ = told[-1]
    wall_s, cpu_s = (median(getattr(meter, name) for _, meter in told) for name in ("wall_s", "cpu_s"))
    rows = median(report.rows for report, _ in told)
    assert rows == ROWS, told
    assert last.verdicts["correlated"] > ROWS // 3, last
    assert OPEN * 0.9 < last.held.open < OPEN * 1.2, last
    return {
        **{"rows": rows, "open": last.held.open, "buckets": last.buckets, "state_mb": round(last.state_bytes / 1e6, 1)},
        **{"wall_s": round(wall_s, 2), "cpu_s": round(cpu_s, 2), "rows_per_s": round(rows / wall_s)},
        "worker_peak_mib": max(meter.worker_peak_mib for _, meter in told),
    }

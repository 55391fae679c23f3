"""make bench-bulk: correlate against the joins that a data engineer would write, on the same tables and session.

The peers know nothing of time to live, ids, cardinality, locks or reasons: a bare rank-join (row_number on both sides,
then join) and the plain equi-join. correlate writes all its outputs, the joins write theirs, all as Parquet. Sizes
count events: messages and subscriptions. `SIZES=1000000 ROUNDS=1 make bench-bulk` is the short form.
"""

import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from benchmarks.workers import WorkerMemory
from conjoin.pipeline.correlate import correlate
from conjoin.pipeline.files.output_files import OutputFolder, write_tables
from conjoin.pipeline.session.session import session
from conjoin.settings import load
from examples.order_to_cash.tables import tables

SIZES = [int(size) for size in os.environ.get("SIZES", "1000000,10000000").split(",")]
ROUNDS = int(os.environ.get("ROUNDS", "3"))
HOT_SIZE = int(os.environ.get("HOT_SIZE", "10000000"))
ON = ["name", "correlation_key"]

Frames = dict[str, DataFrame]


def made(spark: SparkSession, events: int, folder: Path, hot: bool) -> Frames:
    """The tables of the example in no order, as files, with every fifth row on one key if `hot`."""
    frames = tables(spark, events // 2)
    for name, frame in frames.items():
        if hot and name in ("messages", "subscriptions"):
            number = F.xxhash64(F.col("position" if name == "messages" else "subscription_id"))
            key = F.when(F.pmod(number, F.lit(5)) == 0, "hot").otherwise(F.col("correlation_key"))
            frame = frame.withColumn("correlation_key", key)
        shuffled = frame.orderBy(F.xxhash64(*frame.columns)) if events > 1_000 else frame
        shuffled.write.mode("overwrite").parquet(str(folder / name))
    return {name: spark.read.parquet(str(folder / name)) for name in frames}


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


def correlated(frames: Frames, out: Path) -> None:
    with correlate(**frames) as result:
        write_tables(result.tables(), OutputFolder(str(out)))


def timed(work: Callable[[Frames, Path], None], frames: Frames, folder: Path) -> float:
    out = folder / "out"
    shutil.rmtree(out, ignore_errors=True)
    begin = time.perf_counter()
    work(frames, out)
    return time.perf_counter() - begin


def measure(spark: SparkSession, events: int, folder: Path, hot: bool = False) -> list[dict[str, object]]:
    """Every contender in turn, `ROUNDS` times; the best time of each counts."""
    frames = made(spark, events, folder / "in", hot)
    contenders = {"correlate": correlated} if hot else {"rank-join": rank_join, "equi-join": equi_join}
    contenders["correlate"] = correlated
    best = dict.fromkeys(contenders, float("inf"))
    with WorkerMemory() as memory:
        for _ in range(1 if hot else ROUNDS):
            for name, work in contenders.items():
                best[name] = min(best[name], timed(work, frames, folder))
    rows = []
    for name, seconds in best.items():
        row = {"events": events, "hot_key": hot, "what": name, "seconds": round(seconds, 2)}
        row |= {"events_per_s": round(events / seconds)}
        if name == "correlate":
            row["worker_peak_mib"] = memory.peak_mib
            row["ratio_to_rank_join"] = round(best["rank-join"] / seconds, 2) if "rank-join" in best else None
        rows.append(row)
    return rows


def show(rows: list[dict[str, object]]) -> None:
    table = Table(title=f"correlate and the bare joins ({platform.machine()}, {os.cpu_count()} cores)")
    for column in ("events", "hot key", "what", "seconds", "events/s", "ratio to rank-join", "worker peak MiB"):
        table.add_column(column, justify="right" if column != "what" else "left")
    for row in rows:
        table.add_row(
            f"{row['events']:,}",
            "20%" if row["hot_key"] else "",
            str(row["what"]),
            str(row["seconds"]),
            f"{row['events_per_s']:,}",
            str(row.get("ratio_to_rank_join") or ""),
            str(row.get("worker_peak_mib") or ""),
        )
    Console(width=110).print(table)


def main() -> None:
    spark = session(load(master="local[2]", driver_memory="4g", partitions=8), "conjoin-bench-bulk")
    folder = Path(tempfile.mkdtemp(prefix="conjoin-bench-"))
    try:
        measure(spark, 100_000, folder)  # the first jobs of a session compile its code
        rows = [row for events in SIZES for row in measure(spark, events, folder)]
        if HOT_SIZE:
            rows += measure(spark, HOT_SIZE, folder, hot=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(rows)
    print(json.dumps({"machine": {"cores": os.cpu_count(), "python": platform.python_version()}, "rows": rows}))


if __name__ == "__main__":
    main()

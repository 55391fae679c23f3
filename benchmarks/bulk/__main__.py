"""make bench-bulk: correlate against the joins that a data engineer would write, on the same tables and session.

correlate writes all its outputs, the others theirs, all as Parquet. Sizes count events: messages and subscriptions.
`SIZES=1000000 ROUNDS=1 MIX_SIZE=0 make bench-bulk` is the short form; `SIZES= MIXES='second,one key' make bench-bulk`
measures the example's day and those other mixes alone. With `--write` the figures go to
benchmarks/results/bulk.json, from which `python -m benchmarks.figures` writes the tables of the documents.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

from benchmarks.bulk.contenders import correlated, equi_join, peer, rank_join
from benchmarks.bulk.mixes import MIXES, Mix, example, slips_in_keys
from benchmarks.meter import Meter
from conjoin.pipeline.session.session import session
from conjoin.settings import load

SIZES = [int(size) for size in os.environ.get("SIZES", "1000000,10000000").split(",") if size]
ROUNDS = int(os.environ.get("ROUNDS", "3"))
COLD_ROUNDS = int(os.environ.get("COLD_ROUNDS", "5"))
MIX_SIZE = int(os.environ.get("MIX_SIZE", "2000000"))
SHORT = 1_000_000
"""Of so many events a round lasts seconds."""
WANTED = os.environ.get("MIXES", "").split(",")
"""Parts of the names of mixes; the first is always measured, as the others are compared with it."""
RESULTS = Path(__file__).parents[1] / "results" / "bulk.json"

Figures = dict[str, Any]


def measured(work: Callable[[Path], None], out: Path, rounds: int) -> Figures:
    """The best of so many rounds, by CPU time and by wall time."""
    best: Figures = {"wall_s": float("inf"), "cpu_s": float("inf"), "worker_peak_mib": 0}
    for _ in range(rounds):
        shutil.rmtree(out, ignore_errors=True)
        with Meter() as meter:
            work(out)
        best = {
            "wall_s": min(best["wall_s"], round(meter.wall_s, 2)),
            "cpu_s": min(best["cpu_s"], round(meter.cpu_s, 2)),
            "worker_peak_mib": max(best["worker_peak_mib"], meter.worker_peak_mib),
        }
    return best


def against_joins(spark: SparkSession, events: int, folder: Path, rounds: int) -> list[Figures]:
    frames, more = example(spark, events, folder / "in")
    contenders = {
        "rank-join": partial(rank_join, frames),
        "equi-join": partial(equi_join, frames),
        "peer": partial(peer, frames),
        "correlate": partial(correlated, frames, **more),
    }
    # In turn, so that whatever else the machine does strikes all of them; short ones more often, as more strikes them.
    found: dict[str, Figures] = {}
    for _ in range(2 * rounds if events <= SHORT else rounds):
        for name, work in contenders.items():
            one = measured(work, folder / "out", 1)
            found[name] = _best(found.get(name, one), one)
    for name, figures in found.items():
        figures |= {"what": name, "events": events, "events_per_s": round(events / figures["wall_s"])}
        for other in ("rank-join", "peer"):
            figures[f"to {other}"] = {by: round(found[other][by] / figures[by], 2) for by in ("cpu_s", "wall_s")}
    return list(found.values())


def in_mixes(spark: SparkSession, events: int, folder: Path, rounds: int) -> list[Figures]:
    chosen = [name for place, name in enumerate(MIXES) if place == 0 or any(part in name for part in WANTED)]
    mixes: dict[str, Mix] = {name: MIXES[name](spark, events, folder / f"mix-{name}") for name in chosen}
    found: dict[str, Figures] = {}
    shared: dict[str, float] = {}
    # In turn, too: they are compared with each other.
    for _ in range(rounds):
        for name, mix in mixes.items():
            one = measured(partial(correlated, mix.frames, **mix.more), folder / "out", 1)
            found[name] = _best(found.get(name, one), one)
            counts = json.loads((folder / "out" / "_run.json").read_text())["counts"]
            shared[name] = counts["shared_rows"] / max(1, sum(counts["rows_in"].values()))
    rows: list[Figures] = []
    for name, figures in found.items():
        count = sum(frame.count() for frame in mixes[name].frames.values())
        row = {"what": name, "events": count, "shared": round(shared[name], 3), **figures}
        row |= {by.replace("_s", "_us"): round(figures[by] * 1e6 / count, 2) for by in ("cpu_s", "wall_s")}
        first = rows[0] if rows else row
        row["to the example"] = {by: round(row[by] / first[by], 2) for by in ("cpu_us", "wall_us")}
        rows.append(row)
        shutil.rmtree(folder / f"mix-{name}", ignore_errors=True)
    return rows


def _best(one: Figures, other: Figures) -> Figures:
    return {key: (max if key.endswith("mib") else min)(one[key], other[key]) for key in one}


def near_apart(spark: SparkSession, events: int, folder: Path, rounds: int) -> list[Figures]:
    """3% of the keys have a slip: without a look for near misses, and with it."""
    mix = slips_in_keys(spark, events, folder / "mix")
    rows: list[Figures] = []
    for what, near in (("slips in keys", False), ("with near misses", True)):
        figures = measured(partial(correlated, mix.frames, near=near), folder / "out", rounds)
        run = json.loads((folder / "out" / "_run.json").read_text())
        found = {"messages": run["rows"]["verdicts"], "near": run["counts"]["near"], "near_s": run["near_seconds"]}
        count = sum(run["counts"]["rows_in"][table] for table in ("messages", "subscriptions"))
        cpu_us = round(figures["cpu_s"] * 1e6 / count, 2)
        rows.append({"what": what, "events": count, **figures, "cpu_us": cpu_us, **found})
    shutil.rmtree(folder / "mix", ignore_errors=True)
    return rows


def cold_runs(rounds: int) -> list[Figures]:
    """What `make run` does after set-up, each time in processes of its own: an event is a message or a subscription."""
    rows: list[Figures] = []
    for _ in range(rounds):
        with Meter() as meter:
            subprocess.run([sys.executable, "-m", "examples.order_to_cash"], capture_output=True, check=True)
        rows.append({"wall_s": round(meter.wall_s, 2), "cpu_s": round(meter.cpu_s, 2)})
    return sorted(rows, key=lambda row: row["wall_s"])


def show(joins: list[Figures], mixes: list[Figures], near: list[Figures]) -> None:
    table = Table(title="correlate and what people write instead")
    for column in ("events", "what", "wall s", "CPU s", "events/s", "to rank-join", "to peer", "worker MiB"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in joins:
        ratios = [f"{row[f'to {other}']['cpu_s']} ({row[f'to {other}']['wall_s']})" for other in ("rank-join", "peer")]
        cells = f"{row['events']:,}", row["what"], f"{row['wall_s']}", f"{row['cpu_s']}", f"{row['events_per_s']:,}"
        table.add_row(*cells, *ratios, str(row["worker_peak_mib"] or ""))
    Console(width=120).print(table)
    table = Table(title="mixes; ratios by CPU time, in brackets by wall time")
    for column in ("events", "mix", "wall s", "CPU s", "CPU us/event", "to the example", "shared", "worker MiB"):
        table.add_column(column, justify="left" if column == "mix" else "right")
    for row in mixes:
        ratio = f"{row['to the example']['cpu_us']} ({row['to the example']['wall_us']})"
        cells = f"{row['events']:,}", row["what"], f"{row['wall_s']}", f"{row['cpu_s']}", f"{row['cpu_us']}"
        table.add_row(*cells, ratio, f"{row['shared']:.0%}", str(row["worker_peak_mib"]))
    Console(width=120).print(table)
    table = Table(title="near misses on other keys, measured apart")
    for column in ("events", "what", "wall s", "CPU s", "CPU us/event", "near", "worker MiB"):
        table.add_column(column, justify="left" if column == "what" else "right")
    for row in near:
        cells = f"{row['events']:,}", row["what"], f"{row['wall_s']}", f"{row['cpu_s']}", f"{row['cpu_us']}"
        table.add_row(*cells, f"{sum(row['near'].values()):,}", str(row["worker_peak_mib"]))
    Console(width=120).print(table)


def main() -> None:
    # Before anything else runs: it has the machine to itself.
    cold = cold_runs(COLD_ROUNDS)
    print("make run, cold:", *(f"{row['wall_s']} s" for row in cold))
    spark = session(load(master="local[2]", driver_memory="4g", partitions=8), "conjoin-bench-bulk")
    folder = Path(tempfile.mkdtemp(prefix="conjoin-bench-"))
    try:
        against_joins(spark, 100_000, folder, 2)  # the first jobs of a session compile its code
        joins = [row for events in SIZES for row in against_joins(spark, events, folder, ROUNDS)]
        mixes = in_mixes(spark, MIX_SIZE, folder, ROUNDS) if MIX_SIZE else []
        near = near_apart(spark, MIX_SIZE, folder, min(ROUNDS, 2)) if MIX_SIZE and WANTED == [""] else []
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    show(joins, mixes, near)
    machine = {"cores": os.cpu_count(), "python": platform.python_version(), "machine": platform.machine()}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    found = {"commit": commit.stdout.strip(), "machine": machine, "joins": joins, "mixes": mixes, "near": near}
    found["cold"] = cold
    if "--write" in sys.argv:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    else:
        print(json.dumps(found))


if __name__ == "__main__":
    main()

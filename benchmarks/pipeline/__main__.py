"""Figures of the pipeline: tables for people, then one line of JSON.

    python -m benchmarks.pipeline [--only stores,inbox,streaming] [--write] [--open 1000000] [--messages 1000000]

Two shards on SQLite, Spark with local[2]. `stores`: the broker alone, a process a shard; files into a store, wanted is
0.7 of it; and Kafka, 0.9 of files, where scripts/setup-kafka was run. `inbox`: a run that offers and books every row,
5,000 a second, and 0.95 of that whatever is parked; a run with nothing due in 0.2 s; and an inbox over tables.
`streaming`: correlate over streams, without a store; the aims are in `AIMS`. MESSAGES and OPEN are taken from the
environment. With --write what was measured replaces its part of benchmarks/results/pipeline.json, from which
`python -m benchmarks.figures` writes the tables of the documents.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.broker.throughput import chosen
from benchmarks.pipeline.clock import Measured
from benchmarks.pipeline.inbox_tables import over_tables
from benchmarks.pipeline.ingested import ingested
from benchmarks.pipeline.measures import SHARDS, Place, alone, drained
from benchmarks.pipeline.streaming import all_touched, few_touched
from conjoin.pipeline.session.session import session
from conjoin.settings import load

_MILLION = 1_000_000
RESULTS = Path(__file__).parents[1] / "results" / "pipeline.json"
AIMS = {"all": "25,000 rows/s, aim 60,000", "few": "4 s a batch, aim 2 s"}

Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    messages = int(os.environ.get("MESSAGES", _MILLION))
    parser.add_argument("--only", default=",".join(PARTS), help=f"of {', '.join(PARTS)}")
    parser.add_argument("--write", action="store_true", help="into benchmarks/results/pipeline.json")
    parser.add_argument("--messages", type=int, default=messages, help="each for an instance of its own")
    parser.add_argument("--open", type=int, default=int(os.environ.get("OPEN", _MILLION)), help="open instances")
    parser.add_argument("--parked", type=int, default=_MILLION, help="messages of the inbox that nobody tries any more")
    wanted = parser.parse_args()
    console = Console()
    found: Figures = {}
    for name in wanted.only.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            found[name] = PARTS[name](console, Path(folder), wanted) | {"commit": _commit(), "machine": _machine()}
    if wanted.write:
        before = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(before | found, indent=1) + "\n")
    else:
        print(json.dumps(found))


def stores(console: Console, folder: Path, wanted: argparse.Namespace) -> Figures:
    """Into a store."""
    numbers = chosen(wanted.open, wanted.messages)
    with console.status("the broker alone"):
        broker = alone(folder, wanted.open, numbers)
    with console.status("files and Kafka"):
        found = {"broker": broker, **ingested(folder, wanted.open, numbers)}
    table = _table(f"{wanted.messages:,} messages into a store with {wanted.open:,} open instances")
    table.add_row("the broker alone", *_alone(broker), "")
    table.add_row("files", *_against(found["files"], broker), "0.7")
    if "kafka" in found:
        table.add_row("Kafka, against files", *_against(found["kafka"], found["files"]), "0.9")
    console.print(table)
    return _written(wanted, found)


def inbox(console: Console, folder: Path, wanted: argparse.Namespace) -> Figures:
    """Out of an inbox, of a store and over tables."""
    numbers = chosen(wanted.open, wanted.messages)
    place = Place(session(load(master=f"local[{SHARDS}]"), "benchmark"), folder, wanted.open)
    found: Figures = {}
    with console.status("the inbox"):
        found["inbox"], found["nothing_due_s"] = drained(place, numbers, 0)
    with console.status("the inbox, behind what is parked"):
        found["inbox_parked"], found["nothing_due_parked_s"] = drained(place, numbers, wanted.parked)
    with console.status("the inbox over tables"):
        found["inbox_tables"], found["inbox_tables_behind"] = over_tables(place, wanted.messages)
    parked = f"behind {wanted.parked:,} parked"
    table = _table(f"{wanted.messages:,} messages of an inbox, {wanted.open:,} open instances")
    table.add_row("inbox drain on Spark, own engine", *_alone(found["inbox"]), "5,000/s")
    table.add_row(f"{parked}, against it", *_against(found["inbox_parked"], found["inbox"]), "0.95")
    table.add_row("a scheduled run with nothing due", f"{found['nothing_due_s']:.4f} s", "", "", "", "0.2 s")
    table.add_row(parked, f"{found['nothing_due_parked_s']:.4f} s", "", "", "", "0.2 s")
    table.add_row("inbox over tables", *_alone(found["inbox_tables"]), "")
    over = f"behind {wanted.messages:,} that are over, against it"
    table.add_row(over, *_against(found["inbox_tables_behind"], found["inbox_tables"]), "")
    console.print(table)
    return _written(wanted, found)


def _written(wanted: argparse.Namespace, found: Figures) -> Figures:
    plain = {name: value._asdict() if isinstance(value, Measured) else value for name, value in found.items()}
    return {"messages": wanted.messages, "open": wanted.open, "parked": wanted.parked, **plain}


def streaming(console: Console, folder: Path, _: argparse.Namespace) -> Figures:
    """correlate over streams, without a store."""
    spark = session(load(master="local[2]", driver_memory="4g", partitions=8), "benchmark")
    found: Figures = {}
    for name, measure in (("all", all_touched), ("few", few_touched)):
        with console.status(f"streaming correlate, {name}"):
            found[name] = measure(spark, folder)
    table = Table(title="streaming correlate: a batch over subscriptions that wait")
    for heading in ("buckets", "rows", "open", "wall s", "CPU s", "rows/s", "worker MiB", "wanted"):
        table.add_column(heading, justify="right")
    for name, it in found.items():
        cells = f"{it['buckets']} ({name})", f"{it['rows']:,}", f"{it['open']:,}", f"{it['wall_s']}", f"{it['cpu_s']}"
        table.add_row(*cells, f"{it['rows_per_s']:,}", str(it["worker_peak_mib"]), AIMS[name])
    console.print(table)
    return found


PARTS: dict[str, Callable[[Console, Path, argparse.Namespace], Figures]] = {
    "stores": stores,
    "inbox": inbox,
    "streaming": streaming,
}


def _table(title: str) -> Table:
    table = Table(title=f"{title}, {SHARDS} shards on SQLite")
    for heading in ("what", "measured", "ratio", "CPU us", "ratio", "wanted"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    return table


def _alone(one: Measured) -> tuple[str, str, str, str]:
    return f"{one.rate:,.0f}/s", "", f"{one.cpu_us:,.0f}", ""


def _against(one: Measured, other: Measured) -> tuple[str, str, str, str]:
    """Both ratios are larger for what is better."""
    rates, costs = one.rate / other.rate, other.cpu_us / one.cpu_us
    return f"{one.rate:,.0f}/s", f"{rates:.2f}", f"{one.cpu_us:,.0f}", f"{costs:.2f}"


def _commit() -> str:
    told = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
    return told.stdout.strip()


def _machine() -> dict[str, Any]:
    return {"cores": os.cpu_count(), "python": platform.python_version(), "machine": platform.machine()}


if __name__ == "__main__":
    main()

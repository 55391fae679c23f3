"""Figures of the pipeline: a table for people, then one line of JSON.

    python -m benchmarks.pipeline [--open 1000000] [--messages 1000000] [--parked 1000000]

Two shards on SQLite, Spark with local[2], warm. Beside it the broker alone, a process a shard, with the same messages.
What is wanted: 0.7 of it from files; 0.8 of that from Kafka, which is measured where scripts/setup-kafka was run; from
the inbox 5,000 a second, and 0.95 of that whatever is parked; a scheduled run with nothing due in 0.2 s. An inbox over
tables is measured beside it. The defaults of MESSAGES and OPEN are taken from the environment.
"""

import argparse
import json
import os
import platform
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.broker.throughput import chosen
from benchmarks.pipeline.clock import Measured
from benchmarks.pipeline.inbox_tables import over_tables
from benchmarks.pipeline.kafka import from_kafka
from benchmarks.pipeline.measures import SHARDS, Place, alone, drained, from_files
from conjoin.pipeline.session.session import session
from conjoin.settings import load
from tests.kafka.broker import connector

_MILLION = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    messages = int(os.environ.get("MESSAGES", _MILLION))
    parser.add_argument("--messages", type=int, default=messages, help="each for an instance of its own")
    parser.add_argument("--open", type=int, default=int(os.environ.get("OPEN", _MILLION)), help="open instances")
    parser.add_argument("--parked", type=int, default=_MILLION, help="messages of the inbox that nobody tries any more")
    parser.add_argument("--only", choices=["inbox"], help="the inbox alone, on a store and over tables")
    wanted = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = measured(console, Path(folder), wanted)
    console.print(_table(wanted, found))
    print(json.dumps({"machine": f"{platform.machine()}, {os.cpu_count()} cores", **vars(wanted), **found}))


def measured(console: Console, folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    numbers = chosen(wanted.open, wanted.messages)
    found: dict[str, Any] = {}
    is_all = wanted.only is None
    if is_all:
        with console.status("the broker alone"):
            found["broker"] = alone(folder, wanted.open, numbers)
    jars = connector() if is_all else ""
    place = Place(session(load(master=f"local[{SHARDS}]", jars=jars or None), "benchmark"), folder, wanted.open)
    if is_all:
        with console.status("files"):
            found["files"] = from_files(place, numbers)
    if jars:
        with console.status("Kafka"):
            found["kafka"] = from_kafka(place, numbers)
    with console.status("the inbox"):
        found["inbox"], found["nothing_due_s"] = drained(place, numbers, 0)
    with console.status("the inbox, behind what is parked"):
        found["inbox_parked"], found["nothing_due_parked_s"] = drained(place, numbers, wanted.parked)
    with console.status("the inbox over tables"):
        found["inbox_tables"], found["inbox_tables_behind"] = over_tables(place, wanted.messages)
    return found


def _table(wanted: argparse.Namespace, found: dict[str, Any]) -> Table:
    title = f"{wanted.messages:,} messages, {wanted.open:,} open instances, {SHARDS} shards on SQLite"
    table = Table(title=title)
    for heading in ("what", "measured", "ratio", "CPU us", "ratio", "wanted"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    inbox, parked = found["inbox"], f"behind {wanted.parked:,} parked"
    if "broker" in found:
        broker = found["broker"]
        table.add_row("the broker alone", *_alone(broker), "")
        table.add_row("files", *_against(found["files"], broker), "0.7")
    if "kafka" in found:
        table.add_row("Kafka, against files", *_against(found["kafka"], found["files"]), "0.8")
    table.add_row("inbox drain on Spark, own engine", *_alone(inbox), "5,000/s")
    table.add_row(f"{parked}, against it", *_against(found["inbox_parked"], inbox), "0.95")
    table.add_row("a scheduled run with nothing due", f"{found['nothing_due_s']:.4f} s", "", "", "", "0.2 s")
    table.add_row(parked, f"{found['nothing_due_parked_s']:.4f} s", "", "", "", "0.2 s")
    table.add_row("inbox over tables", *_alone(found["inbox_tables"]), "")
    over = f"behind {wanted.messages:,} that are over, against it"
    table.add_row(over, *_against(found["inbox_tables_behind"], found["inbox_tables"]), "")
    return table


def _alone(one: Measured) -> tuple[str, str, str, str]:
    return f"{one.rate:,.0f}/s", "", f"{one.cpu_us:,.0f}", ""


def _against(one: Measured, other: Measured) -> tuple[str, str, str, str]:
    """Both ratios are larger for what is better."""
    rates, costs = one.rate / other.rate, other.cpu_us / one.cpu_us
    return f"{one.rate:,.0f}/s", f"{rates:.2f}", f"{one.cpu_us:,.0f}", f"{costs:.2f}"


if __name__ == "__main__":
    main()

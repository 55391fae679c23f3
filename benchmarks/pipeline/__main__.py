"""Figures of the pipeline: a table for people, then one line of JSON.

    python -m benchmarks.pipeline [--open 1000000] [--messages 1000000] [--parked 1000000]

Two shards on SQLite, Spark with local[2], warm. Beside it the broker alone, a process a shard, with the same messages.
What is wanted: 0.7 of it from files; 0.9 of that from Kafka, which is measured where scripts/setup-kafka was run; from
the inbox 0.5 of it and 5,000 a second, whatever is parked; a run with nothing due in less than a second. The defaults
of MESSAGES and OPEN are taken from the environment.
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
from benchmarks.pipeline.ingested import ingested
from benchmarks.pipeline.measures import SHARDS, Place, alone, drained
from conjoin.pipeline.session.session import session
from conjoin.settings import load

_MILLION = 1_000_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    messages = int(os.environ.get("MESSAGES", _MILLION))
    parser.add_argument("--messages", type=int, default=messages, help="each for an instance of its own")
    parser.add_argument("--open", type=int, default=int(os.environ.get("OPEN", _MILLION)), help="open instances")
    parser.add_argument("--parked", type=int, default=_MILLION, help="messages of the inbox that nobody tries any more")
    wanted = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = measured(console, Path(folder), wanted)
    console.print(_table(wanted, found))
    print(json.dumps({"machine": f"{platform.machine()}, {os.cpu_count()} cores", **vars(wanted), **found}))


def measured(console: Console, folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    numbers = chosen(wanted.open, wanted.messages)
    found: dict[str, Any] = {}
    with console.status("the broker alone"):
        found["broker"] = alone(folder, wanted.open, numbers)
    with console.status("files and Kafka"):
        found |= ingested(folder, wanted.open, numbers)
    place = Place(session(load(master=f"local[{SHARDS}]"), "benchmark"), folder, wanted.open)
    with console.status("the inbox"):
        found["inbox"], found["nothing_due_s"] = drained(place, numbers, 0)
    with console.status("the inbox, behind what is parked"):
        found["inbox_parked"], found["nothing_due_parked_s"] = drained(place, numbers, wanted.parked)
    return found


def _table(wanted: argparse.Namespace, found: dict[str, Any]) -> Table:
    title = f"{wanted.messages:,} messages, {wanted.open:,} open instances, {SHARDS} shards on SQLite"
    table = Table(title=title)
    for heading in ("what", "measured", "ratio", "CPU us", "ratio", "wanted"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    broker, inbox = found["broker"], found["inbox"]
    parked = f"behind {wanted.parked:,} parked"
    table.add_row("the broker alone", f"{broker.rate:,.0f}/s", "", f"{broker.cpu_us:,.0f}", "", "")
    table.add_row("files", *_against(found["files"], broker), "0.7")
    if "kafka" in found:
        name = f"Kafka into a store, {wanted.messages:,} records, against files"
        table.add_row(name, *_against(found["kafka"], found["files"]), "0.9")
    table.add_row("the inbox", *_against(inbox, broker), "0.5, 5,000/s")
    table.add_row(f"{parked}, against it", *_against(found["inbox_parked"], inbox), "1")
    table.add_row("nothing due", f"{found['nothing_due_s']:.2f} s", "", "", "", "1 s")
    table.add_row(parked, f"{found['nothing_due_parked_s']:.2f} s", "", "", "", "1 s")
    return table


def _against(one: Measured, other: Measured) -> tuple[str, str, str, str]:
    """Both ratios are larger for what is better."""
    rates, costs = one.rate / other.rate, other.cpu_us / one.cpu_us
    return f"{one.rate:,.0f}/s", f"{rates:.2f}", f"{one.cpu_us:,.0f}", f"{costs:.2f}"


if __name__ == "__main__":
    main()

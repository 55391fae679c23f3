"""Figures of the pipeline: a table for people, then one line of JSON.

    python -m benchmarks.pipeline [--open 1000000] [--messages 1000000]

Messages in files become committed correlations on two shards, on Spark with local[2]; beside it the broker alone, a
process a shard, on the same messages. What is wanted: 0.7 of it.
"""

import argparse
import json
import os
import platform
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.broker.state import make, paid
from benchmarks.broker.throughput import chosen, side_by_side
from conjoin.pipeline.ingest.batch import Ingest, Ingested
from conjoin.pipeline.ingest.stream import take_files, watch_files
from conjoin.pipeline.session import session
from conjoin.runtime.encoding.json_text import json_text
from conjoin.settings import load

SHARDS = 2
_FILES = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, default=1_000_000, help="open instances")
    parser.add_argument("--messages", type=int, default=1_000_000, help="messages, each for an instance of its own")
    wanted = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = measured(console, Path(folder), wanted)
    table = Table(title=f"{wanted.messages:,} messages, {wanted.open:,} open instances, {SHARDS} shards on SQLite")
    for heading in ("what", "messages/s", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    table.add_row("the broker alone, a process a shard", f"{found['broker']:,.0f}", "")
    table.add_row("files, on Spark", f"{found['files']:,.0f}", f"{found['files_ratio']:.2f}")
    console.print(table)
    print(json.dumps({"machine": f"{platform.machine()}, {os.cpu_count()} cores", **vars(wanted), **found}))


def measured(console: Console, folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    numbers = chosen(wanted.open, wanted.messages)
    found: dict[str, Any] = {}
    with console.status("the broker alone"):
        make(str(folder / "alone"), SHARDS, wanted.open).close()
        found["broker"] = side_by_side(str(folder / "alone"), SHARDS, numbers)
    with console.status("files"):
        found["files"] = _files(folder, wanted.open, numbers)
        found["files_ratio"] = found["files"] / found["broker"]
    return found


def _files(folder: Path, instances: int, numbers: list[int]) -> float:
    broker = make(str(folder / "ingested"), SHARDS, instances)
    incoming, warm = folder / "incoming", folder / "warm.jsonl"
    incoming.mkdir()
    for place in range(_FILES):
        (incoming / f"{place}.jsonl").write_text("".join(map(_line, numbers[place::_FILES])))
    warm.write_text('{"name": "nobody waits for this"}\n')
    total = Ingested()
    job = Ingest(broker, "bench", None, total.add)
    spark = session(load(master=f"local[{SHARDS}]"), "benchmark")
    take_files(spark, job, [str(warm)])
    started = time.perf_counter()
    watch_files(spark, str(incoming), str(folder / "checkpoint"), job, once=True).awaitTermination()
    took = time.perf_counter() - started
    assert total.verdicts["correlated", "waiting_instance"] == len(numbers), total
    broker.close()
    return len(numbers) / took


def _line(number: int) -> str:
    message = paid(number)
    said = {"name": message.name, "key": message.key, "variables": message.variables, "ttl": message.ttl_ms}
    return f"{json_text(said)}\n"


if __name__ == "__main__":
    main()

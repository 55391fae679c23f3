"""The gateway's figures: a table for people, then one line of JSON.

    python -m benchmarks.gateway [--open 100000] [--messages 20000] [--shards 2]

Every publish is correlated, advances its instance and is committed (SQLite, synchronous=FULL) before it is answered.
The clients are a process of their own, on the same machine. What is wanted: 2,000 publishes a second from 50 clients
with a p99 under 50 ms, and 0.6 of what the same server does whose handler answers at once; bulk 0.7 of the broker's
batches on one shard; at 200 a second p50 under 5 ms and p99 under 20 ms; idle under 150 MB; ready within 2 s.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.broker.state import make
from benchmarks.broker.throughput import chosen, in_batches
from benchmarks.gateway.server import Server

STEADY = 2_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, default=100_000, help="open instances")
    parser.add_argument("--messages", type=int, default=20_000, help="published one by one, and in bulk")
    parser.add_argument("--shards", type=int, default=2, help="of the store that clients publish to one by one")
    wanted = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory(prefix="bench-") as folder, console.status("measuring"):
        found = idle(Path(folder)) | one_by_one(Path(folder), wanted) | in_bulk(Path(folder), wanted)
    console.print(_table(found))
    print(json.dumps({"machine": f"{platform.machine()}, {os.cpu_count()} cores", "open": wanted.open, **found}))


def idle(folder: Path) -> dict[str, Any]:
    """A store that is there already, as after a restart."""
    make(str(folder / "idle"), 2, 1_000).close()
    with Server(folder / "idle") as server:
        return {"ready_s": server.ready_s, "idle_mb": server.memory_mb}


def one_by_one(folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    store = folder / "one-by-one"
    make(str(store), wanted.shards, wanted.open).close()
    with Server(store, empty=True) as server:
        empty = load("closed", server.grpc, wanted.open, 0, wanted.messages)
    with Server(store) as server:
        steady = load("steady", server.grpc, wanted.open, wanted.messages, STEADY)
        publish = load("closed", server.grpc, wanted.open, 0, wanted.messages)
        memory_mb = server.memory_mb
    ratio = publish["rate"] / empty["rate"]
    return {"publish": publish, "empty": empty, "publish_ratio": ratio, "steady": steady, "busy_mb": memory_mb}


def in_bulk(folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    store = folder / "bulk"
    make(str(store), 1, wanted.open).close()
    with Server(store) as server:
        bulk = load("bulk", server.rest, wanted.open, 0, wanted.messages)
    broker = make(str(folder / "batches"), 1, wanted.open)
    batches = in_batches(broker, chosen(wanted.open, wanted.open)[: wanted.messages]).rate
    broker.close()
    return {"bulk": bulk["rate"], "batches": batches, "bulk_ratio": bulk["rate"] / batches}


def load(how: str, address: str, instances: int, first: int, count: int) -> dict[str, Any]:
    line = [sys.executable, "-m", "benchmarks.gateway.load", how, address, str(instances), str(first), str(count)]
    told: dict[str, Any] = json.loads(subprocess.run(line, capture_output=True, text=True, check=True).stdout)
    return told


def _table(found: dict[str, Any]) -> Table:
    table = Table(title="conjoin serve, SQLite")
    for heading in ("what", "measured", "compared with", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    rate, ms = "{:,.0f}/s".format, "p50 {p50_ms:.1f}, p99 {p99_ms:.1f} ms".format
    publish, empty = found["publish"], found["empty"]
    ratio = "{:.2f}".format
    table.add_row(
        *("PublishMessage, 50 clients", rate(publish["rate"]), f"{rate(empty['rate'])}, empty handler"),
        ratio(found["publish_ratio"]),
    )
    table.add_row("the same", ms(**publish), f"{ms(**empty)}, empty handler", "")
    table.add_row("publish -> advanced, 200/s", ms(**found["steady"]), "", "")
    table.add_row(
        *("bulk NDJSON, one shard", rate(found["bulk"]), f"{rate(found['batches'])}, broker's batches"),
        ratio(found["bulk_ratio"]),
    )
    table.add_row("idle memory; after the load", f"{found['idle_mb']:.0f} MB; {found['busy_mb']:.0f} MB", "", "")
    table.add_row("start to ready", f"{found['ready_s']:.1f} s", "", "")
    return table


if __name__ == "__main__":
    main()

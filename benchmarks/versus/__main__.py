"""Conjoin and Zeebe, told the same story by the same driver: a table for people, then one line of JSON.

    python -m benchmarks.versus [--count 4000] [--in-flight 100] [--a-second 50] [--partitions 1]

It needs scripts/setup-zeebe and scripts/setup-clients. One runs after the other on this machine, each alone, with the
driver beside it; the driver speaks gRPC through pyzeebe's stubs. Each is warmed with as many messages first.
Both keep what they have acknowledged over a crash of the machine: Conjoin syncs each commit (SQLite, synchronous=FULL),
Zeebe its log (raft, flush as configured out of the box). Zeebe has one node and no exporter, so nothing can be searched
there; what Conjoin writes can be.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.gateway.server import Server
from benchmarks.versus.zeebe import PLACE, Zeebe
from conjoin.runtime.opening import create_broker

PYTHON = PLACE.parent / "clients/python/bin/python"
DRIVER = Path(__file__).with_name("driver.py")
MODEL = Path(__file__).with_name("order.bpmn")
_ROWS = {
    "advanced_a_second": ("messages to the last advanced instance", "{:,.0f}/s"),
    "created_a_second": ("instances created", "{:,.0f}/s"),
    "publish_p50_ms": ("publish under that load, p50", "{:.0f} ms"),
    "publish_p99_ms": ("publish under that load, p99", "{:.0f} ms"),
    "turned_away": ("requests turned away (back-pressure), and sent again", "{:,}"),
    "end_p50_ms": ("publish to the instance's end at the low rate, p50", "{:.1f} ms"),
    "end_p99_ms": ("the same, p99", "{:.1f} ms"),
    "ready_s": ("start to ready", "{:.1f} s"),
    "idle_mb": ("memory when ready", "{:,.0f} MB"),
    "busy_mb": ("memory after the story", "{:,.0f} MB"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4_000, help="instances that wait, and messages for them")
    parser.add_argument("--in-flight", type=int, default=100, help="requests at a time")
    parser.add_argument("--a-second", type=int, default=50, help="the low rate")
    parser.add_argument("--partitions", type=int, default=1, help="of both")
    wanted = parser.parse_args()
    for needed, script in ((PLACE / "fetched", "setup-zeebe"), (PYTHON, "setup-clients")):
        if not needed.exists():
            parser.error(f"{needed} is missing: run scripts/{script}")
    console = Console()
    with tempfile.TemporaryDirectory(prefix="versus-") as folder:
        with console.status("Conjoin"):
            ours = conjoin(Path(folder) / "conjoin", wanted)
        with console.status("Zeebe"):
            theirs = zeebe(Path(folder) / "zeebe", wanted)
    console.print(_table(ours, theirs))
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    print(json.dumps({"machine": machine, **vars(wanted), "conjoin": ours, "zeebe": theirs}))


def conjoin(store: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    create_broker(store, wanted.partitions).close()
    with Server(store) as server:
        return _measured(server, wanted)


def zeebe(folder: Path, wanted: argparse.Namespace) -> dict[str, Any]:
    with Zeebe(folder, wanted.partitions) as broker:
        return _measured(broker, wanted)


def _measured(server: Server | Zeebe, wanted: argparse.Namespace) -> dict[str, Any]:
    found = {"ready_s": server.ready_s, "idle_mb": server.memory_mb}
    numbers = [str(number) for number in (wanted.count, wanted.in_flight, wanted.a_second)]
    line = [str(PYTHON), str(DRIVER), server.grpc, str(MODEL), *numbers]
    told = json.loads(subprocess.run(line, stdout=subprocess.PIPE, text=True, check=True).stdout)
    return found | told | {"busy_mb": server.memory_mb}


def _table(ours: dict[str, Any], theirs: dict[str, Any]) -> Table:
    table = Table(title="the same story, one after the other")
    for heading in ("what", "Conjoin", "Zeebe 8.6.0"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, (what, shown) in _ROWS.items():
        table.add_row(what, shown.format(ours[name]), shown.format(theirs[name]))
    return table


if __name__ == "__main__":
    main()

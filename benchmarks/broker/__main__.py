"""The broker's figures: a table for people, then one line of JSON.

    python -m benchmarks.broker [--open 1000000] [--messages 100000] [--stores sqlite postgres]

PostgreSQL is a throw-away server of its own. What is wanted: 0.6 of the baseline in batches of
1,000, 0.5 one by one, 1.7 times as much with two shards on two cores, p99 under 10 ms, at most doubled by expiries.
"""

import argparse
import json
import os
import platform
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.broker import baseline
from benchmarks.broker.latency import at_a_steady_rate, percentile
from benchmarks.broker.state import make
from benchmarks.broker.throughput import BATCH, chosen, in_batches, one_by_one, side_by_side

SINGLE = 3_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, default=1_000_000, help="open instances")
    parser.add_argument("--messages", type=int, default=100_000, help="published in batches")
    parser.add_argument("--due", type=int, default=1_000_000, help="messages that expire beside the publishes")
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"], choices=["sqlite", "postgres"])
    wanted = parser.parse_args()
    console = Console()
    figures = {}
    for store in wanted.stores:
        with _server(store) as place:
            figures[store] = measured(console, place, wanted)
    for store, found in figures.items():
        console.print(_table(store, wanted, found))
    print(json.dumps({"machine": f"{platform.machine()}, {os.cpu_count()} cores", "open": wanted.open, **figures}))


class Place:
    """Where stores of one kind are made, each at an address of its own, and their baseline."""

    def __init__(self, folder: Path, server: Any = None) -> None:
        self._folder = folder
        self._server = server
        self._count = 0

    def address(self) -> str:
        self._count += 1
        return str(self._folder / f"store-{self._count}") if self._server is None else self._server.new_database()

    def baseline(self, instances: int) -> baseline.Rates:
        if self._server is None:
            return baseline.sqlite(instances)
        return baseline.postgres(self._server.new_database(), instances)


@contextmanager
def _server(store: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if store == "sqlite":
            yield Place(Path(folder))
            return
        from tests.store.postgres_server import start_server

        server = start_server(synced=True)
        try:
            yield Place(Path(folder), server)
        finally:
            server.remove()


def measured(console: Console, place: Place, wanted: argparse.Namespace) -> dict[str, Any]:
    found: dict[str, Any] = {}
    with console.status("baseline"):
        rates = place.baseline(wanted.open)
    found["baseline_batch"], found["baseline_single"] = rates[BATCH, 1], rates[1, 1]
    numbers = chosen(wanted.open, wanted.messages + SINGLE + 20_000)
    batched, single, steady = numbers[: wanted.messages], numbers[-SINGLE:], numbers[wanted.messages : -SINGLE]
    with console.status("one shard"):
        broker = make(place.address(), 1, wanted.open)
        whole = in_batches(broker, batched)
        found |= {"batch": whole.rate, "batch_ratio": whole.rate / rates[BATCH, 1], "batch_us": whole.told()}
        alone = one_by_one(broker, single)
        found |= {"single": alone.rate, "single_ratio": alone.rate / rates[1, 1], "single_us": alone.told()}
        calm = at_a_steady_rate(broker, steady[:10_000])
        found |= {"p50_ms": percentile(calm, 0.5), "p99_ms": percentile(calm, 0.99)}
        broker.close()
    with console.status("expiries"):
        broker = make(place.address(), 1, wanted.open, wanted.due)
        busy = at_a_steady_rate(broker, steady[10_000:], sweep_every_s=0.001, expiring=True)
        found |= {"p99_expiring_ms": percentile(busy, 0.99), "p99_ratio": percentile(busy, 0.99) / found["p99_ms"]}
        broker.close()
    with console.status("two shards"):
        address = place.address()
        make(address, 2, wanted.open).close()
        found["two_shards"] = side_by_side(address, 2, batched)
        found["two_shards_ratio"] = found["two_shards"] / whole.rate
    return found


def _table(store: str, wanted: argparse.Namespace, found: dict[str, Any]) -> Table:
    table = Table(title=f"{store}, {wanted.open:,} open instances")
    for heading in ("what", "broker", "baseline", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    rate, ratio = "{:,.0f}/s".format, "{:.2f}".format
    table.add_row("batches of 1,000", rate(found["batch"]), rate(found["baseline_batch"]), ratio(found["batch_ratio"]))
    table.add_row(
        "one by one, inline", rate(found["single"]), rate(found["baseline_single"]), ratio(found["single_ratio"])
    )
    table.add_row("two shards, two processes", rate(found["two_shards"]), "", ratio(found["two_shards_ratio"]))
    table.add_row("p99 of a publish at 1,000/s", f"{found['p99_ms']:.1f} ms", "", "")
    table.add_row("the same while messages expire", f"{found['p99_expiring_ms']:.1f} ms", "", ratio(found["p99_ratio"]))
    table.add_row("us a message in batches", found["batch_us"], "", "")
    table.add_row("us a message one by one", found["single_us"], "", "")
    return table


if __name__ == "__main__":
    main()

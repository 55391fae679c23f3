"""The broker's figures: a table for people, and benchmarks/results/broker.json with `--write`.

    python -m benchmarks.broker [--open 1000000] [--messages 100000] [--stores sqlite postgres] [--write]

PostgreSQL is a throw-away server of its own. What is wanted: 0.6 of the baseline in batches of 1,000 on SQLite and 0.5
on PostgreSQL, 0.35 and 0.5 one by one, 1.8 times as much with two shards on two cores, p99 under 10 and 15 ms.
"""

import argparse
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.broker import baseline
from benchmarks.broker.latency import at_a_steady_rate, steady_p99, typical
from benchmarks.broker.requests import completions, creations, in_turn, with_ids
from benchmarks.broker.state import make
from benchmarks.broker.throughput import BATCH, chosen, in_batches, one_by_one, side_by_side
from conjoin import runs_as

SINGLE = 3_000
RESULTS = Path(__file__).parents[1] / "results" / "broker.json"
Figures = dict[str, Any]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, default=1_000_000, help="open instances")
    parser.add_argument("--messages", type=int, default=100_000, help="published in batches")
    parser.add_argument("--due", type=int, default=1_000_000, help="messages that expire beside the publishes")
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"], choices=["sqlite", "postgres"])
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    machine = f"{platform.machine()}, {os.cpu_count()} cores"
    found: Figures = {"commit": commit, "machine": machine, "runs_as": runs_as, "open": wanted.open, "stores": {}}
    for store in wanted.stores:
        with _server(store) as place:
            found["stores"][store] = measured(place, wanted)
        print(json.dumps({store: found["stores"][store]}), flush=True)
    if wanted.write:
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


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


def measured(place: Place, wanted: argparse.Namespace) -> Figures:
    rates = place.baseline(wanted.open)
    numbers = chosen(wanted.open, wanted.messages + SINGLE + 20_000)
    batched, single, steady = numbers[: wanted.messages], numbers[-SINGLE:], numbers[wanted.messages : -SINGLE]
    broker = make(place.address(), 1, wanted.open)
    whole = in_batches(broker, batched)
    alone = one_by_one(broker, single)
    calm = at_a_steady_rate(broker, steady[:10_000])
    found: Figures = {
        "batches": {**whole.told(), "baseline": rates[BATCH, 1], "ratio": round(whole.rate / rates[BATCH, 1], 2)},
        "single": {**alone.told(), "baseline": rates[1, 1], "ratio": round(alone.rate / rates[1, 1], 2)},
        "steady": {"p50_ms": typical(calm), "p99_ms": steady_p99(calm)},
        "requests": _others(broker, batched[:20_000]),
    }
    broker.close()
    broker = make(place.address(), 1, wanted.open, wanted.due)
    busy = at_a_steady_rate(broker, steady[10_000:], sweep_every_s=0.001, expiring=True)
    broker.close()
    ratio = round(steady_p99(busy) / found["steady"]["p99_ms"], 2)
    found["expiring"] = {"p50_ms": typical(busy), "p99_ms": steady_p99(busy), "ratio": ratio}
    address = place.address()
    make(address, 2, wanted.open).close()
    both = side_by_side(address, 2, batched)
    found["two_shards"] = {"rate": round(both), "ratio": round(both / whole.rate, 2)}
    return found


def _others(broker: Any, numbers: list[int]) -> dict[str, Figures]:
    """In batches, too: what other requests cost."""
    kept = in_turn(broker, with_ids(numbers))
    created = in_turn(broker, creations(broker, len(numbers)))
    completed = in_turn(broker, completions(broker, len(numbers)))
    return {"messages with an id and a time to live": kept, "creates": created, "a job completed": completed}


_STORE_NAMES = {"sqlite": "SQLite", "postgres": "PostgreSQL"}
_STEPS = ("load", "decide", "encode", "commit")


def table(found: Figures) -> str:
    """What the page shows, in Markdown."""
    lines = ["| | messages/s | baseline | ratio | CPU µs a message |", "|---|---|---|---|---|"]
    for store, its in found["stores"].items():
        name = _STORE_NAMES[store]
        for what, key in ((f"{name}, batches of 1,000", "batches"), (f"{name}, one by one", "single")):
            row = its[key]
            lines.append(
                f"| {what} | {row['rate']:,} | {row['baseline']:,.0f} | {row['ratio']} | {row['cpu_us']:.0f} |"
            )
        two = its["two_shards"]
        lines.append(f"| {name}, two shards, two processes | {two['rate']:,} | | {two['ratio']} of one shard | |")
        for what, row in its["requests"].items():
            lines.append(f"| {name}, {what}, in batches | {row['rate']:,} | | | {row['cpu_us']:.0f} |")
    lines += ["", "| at 1,000 publishes a second | p50 | p99 |", "|---|---|---|"]
    for store, its in found["stores"].items():
        steady, expiring = its["steady"], its["expiring"]
        name = _STORE_NAMES[store]
        lines.append(f"| {name} | {steady['p50_ms']} ms | {steady['p99_ms']} ms |")
        lines.append(f"| {name}, while messages expire | {expiring['p50_ms']} ms | {expiring['p99_ms']} ms |")
    lines += ["", "| µs a message | load | decide | encode | commit |", "|---|---|---|---|---|"]
    for store, its in found["stores"].items():
        for what, key in (("batches of 1,000", "batches"), ("one by one", "single")):
            steps = " | ".join(f"{its[key]['steps_us'][step]:.0f}" for step in _STEPS)
            lines.append(f"| {_STORE_NAMES[store]}, {what} | {steps} |")
    return "\n".join([*lines, "", f"Commit `{found['commit']}`, {found['runs_as']}, {found['open']:,} open instances."])


if __name__ == "__main__":
    main()

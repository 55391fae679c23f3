"""Hot keys and large families: a hot request, and an unrelated publish handed in beside it, against calm.

    python -m benchmarks.broker.hot [--scale 1.0] [--times 600] [--stores sqlite postgres] [--write]
    python -m benchmarks.broker.hot --table

What is wanted: p99 of the unrelated publish within 3 times of calm. The CPU time of each pair stands beside, which a
loaded machine hardly changes. `--write` keeps the figures under benchmarks/results, `--table` shows those kept last.
"""

import argparse
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.broker.hot_stores import OTHERS, STORES, Ask
from benchmarks.broker.latency import percentile
from benchmarks.broker.state import paid
from conjoin.runtime.broker import Broker
from conjoin.runtime.run.carriers.shard_threads import shard_threads

RESULTS = Path(__file__).parents[1] / "results" / "hot.json"
_HEADINGS = ("store", "crowd", "calm p50 / p99", "unrelated p50 / p99", "ratio", "hot p50 / p99", "CPU, calm / hot")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="of the sizes of all crowds")
    parser.add_argument("--times", type=int, default=600, help="pairs of requests that are measured")
    parser.add_argument("--stores", nargs="+", default=["sqlite", "postgres"], choices=["sqlite", "postgres"])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--table", action="store_true")
    wanted = parser.parse_args()
    if wanted.table:
        print(table(json.loads(RESULTS.read_text())))
        return
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    found = {"commit": commit, "scale": wanted.scale, "times": wanted.times, "figures": list(measured(wanted))}
    if wanted.write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=1) + "\n")
    print(table(found))


def measured(wanted: argparse.Namespace) -> Iterator[dict[str, Any]]:
    from benchmarks.broker.__main__ import _server

    for store in wanted.stores:
        with _server(store) as place:
            for name, (make, size) in STORES.items():
                crowd = make(place.address(), max(100, int(size * wanted.scale)))
                figures = {"store": store, "crowd": name, **beside(crowd.broker, crowd.ask, wanted.times)}
                crowd.broker.close()
                print(json.dumps(figures), flush=True)
                yield figures


class Pairs:
    """Two requests handed in together, again and again: milliseconds of each, and the CPU time of a pair."""

    def __init__(self) -> None:
        self.took_ms: tuple[list[float], list[float]] = ([], [])
        self.cpu_ms = 0.0

    def measure(self, runner: Any, *requests: Any) -> None:
        used, began = time.process_time(), time.perf_counter()
        asked = [runner.submit(0, request) for request in requests]
        for took_ms, future in zip(self.took_ms, asked, strict=True):
            future.result()
            took_ms.append((time.perf_counter() - began) * 1e3)
        self.cpu_ms += (time.process_time() - used) * 1e3


def beside(broker: Broker, ask: Ask, times: int) -> dict[str, float]:
    """In turns: two unrelated publishes, and a hot request with an unrelated publish behind it."""
    unrelated = iter(range(OTHERS))
    calm, hot = Pairs(), Pairs()
    with shard_threads(broker) as runner:
        for number in range(20):
            Pairs().measure(runner, ask(number), paid(next(unrelated)))
        for number in range(20, 20 + times):
            calm.measure(runner, paid(next(unrelated)), paid(next(unrelated)))
            hot.measure(runner, ask(number), paid(next(unrelated)))
    told = {"calm": calm.took_ms[1], "unrelated": hot.took_ms[1], "hot": hot.took_ms[0]}
    found = {f"{who}_p{at}_ms": percentile(sorted(ms), at / 100) for who, ms in told.items() for at in (50, 99)}
    cpu = {"calm_cpu_ms": calm.cpu_ms / times, "cpu_ms": hot.cpu_ms / times}
    return found | {"ratio": found["unrelated_p99_ms"] / found["calm_p99_ms"], **cpu}


def table(found: dict[str, Any]) -> str:
    lines = ["| " + " | ".join(_HEADINGS) + " |", "|---" * len(_HEADINGS) + "|"]
    for it in found["figures"]:
        pairs = (f"{it[f'{who}_p50_ms']:.1f} / {it[f'{who}_p99_ms']:.1f} ms" for who in ("calm", "unrelated", "hot"))
        calm, unrelated, hot = pairs
        cpu = f"{it['calm_cpu_ms']:.1f} / {it['cpu_ms']:.1f} ms"
        lines.append(f"| {it['store']} | {it['crowd']} | {calm} | {unrelated} | {it['ratio']:.1f} | {hot} | {cpu} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()

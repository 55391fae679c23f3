"""How the cost of a message grows with the number of open instances, against the baseline's growth, on SQLite.

    python -m benchmarks.broker.growth [--open 100000 10000000] [--messages 50000]

The state is loaded in bulk. What is wanted: at most 1.3 times the growth of the baseline.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks.broker import baseline
from benchmarks.broker.state import make
from benchmarks.broker.throughput import BATCH, chosen, in_batches


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--open", type=int, nargs=2, default=[100_000, 10_000_000])
    parser.add_argument("--messages", type=int, default=50_000)
    wanted = parser.parse_args()
    costs = []
    for instances in wanted.open:
        theirs = 1e6 / baseline.sqlite(instances)[BATCH, 1]
        ours = _cost_us(instances, wanted.messages)
        costs.append((ours, theirs))
        print(f"{instances:>11,} open: broker {ours:.1f} us a message, baseline {theirs:.1f}", flush=True)
    (small, their_small), (large, their_large) = costs
    grown, their_growth = large / small, their_large / their_small
    print(f"growth: broker {grown:.2f}, baseline {their_growth:.2f}: {grown / their_growth:.2f} times the baseline's")


def _cost_us(instances: int, messages: int) -> float:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        broker = make(str(Path(folder) / "store"), 1, instances)
        measured = in_batches(broker, chosen(instances, min(messages, instances)))
        broker.close()
        return 1e6 / measured.rate


if __name__ == "__main__":
    main()

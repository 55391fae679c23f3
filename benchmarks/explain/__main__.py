"""Planted mistakes: how often the true cause is named first, and how often advice is given where nothing is near.

    python -m benchmarks.explain [--each 5] [--seed 21] [--places store tables inbox] [--show 20] [--million] [--write]

Kinds of keys, kinds of slips and crowds of 100 to 100,000 who wait are combined; a plant says what the true cause is.
`--show` prints some that went wrong, `--write` keeps the figures in benchmarks/results/explain.json.
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.explain import in_inbox, in_store, in_tables
from benchmarks.explain.keys import KINDS
from benchmarks.explain.tally import Judged, figures, table

RESULTS = Path(__file__).parents[1] / "results" / "explain.json"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each", type=int, default=4, help="so many of each slip, kind of key and crowd")
    parser.add_argument("--seed", type=int, default=21)
    parser.add_argument("--kinds", nargs="+", default=list(KINDS), choices=KINDS)
    parser.add_argument("--crowds", nargs="+", type=int, default=list(in_store.CROWDS))
    parser.add_argument("--places", nargs="+", default=list(PLACES), choices=list(PLACES))
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--million", action="store_true", help="also how long it takes among a million who wait")
    parser.add_argument("--write", action="store_true")
    wanted = parser.parse_args()
    print(f"seed {wanted.seed}", flush=True)
    began = time.perf_counter()
    found = list(_judged(wanted))
    results = {"seed": wanted.seed, "commit": _commit(), **figures(found)}
    if wanted.million:
        results["million"] = in_store.among_a_million(random.Random(wanted.seed))
    results["wall_s"] = round(time.perf_counter() - began)
    results["cpu_s"] = round(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]))
    if wanted.write:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    print(table(results))
    for name in ("places", "keys", "crowds", "advice by keys"):
        print(name, json.dumps(results[name], indent=1))
    for it in [it for it in found if not it.right][: wanted.show]:
        print(f"{it.place} {it.keys} {it.crowd} {it.slip}: {it.told}", file=sys.stderr)


def _judged(wanted: Any) -> Iterator[Judged]:
    for place in wanted.places:
        kinds, crowds = tuple(wanted.kinds), tuple(wanted.crowds)
        yield from PLACES[place](kinds, crowds, wanted.each, random.Random(wanted.seed))


def _commit() -> str:
    asked = ["git", "rev-parse", "--short", "HEAD"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


PLACES = {"store": in_store.judged, "tables": in_tables.judged, "inbox": in_inbox.judged}

if __name__ == "__main__":
    main()

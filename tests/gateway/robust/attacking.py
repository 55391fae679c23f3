"""Attackers, as a process of their own: several threads, each with attacks by chance until the time is over.

    python -m tests.gateway.robust.attacking --rest 127.0.0.1:8080 --grpc 127.0.0.1:26500 --seconds 60 --seed 7

What attack came how often is printed at the end. An attack that ends with anything but a connection's end is a mistake
of the attackers.
"""

import argparse
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from random import Random

from tests.gateway.robust import attack_grpc, attack_rest
from tests.gateway.robust.attack_rest import Target

REST_THREADS, GRPC_THREADS = 12, 3


def attack(at: Target, attacks: tuple[object, ...], seed: str, until: float) -> Counter[str]:
    rng, made = Random(seed), Counter[str]()
    while time.monotonic() < until:
        one = rng.choice(attacks)
        made[one.__name__] += 1  # type: ignore[attr-defined]
        try:
            one(at, rng)  # type: ignore[operator]
        except OSError:
            made["ended by the server"] += 1
    return made


def target(text: str) -> Target:
    host, port = text.rsplit(":", 1)
    return Target(host, int(port))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("--rest", "--grpc"):
        parser.add_argument(name, type=target, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--seed", required=True)
    told = parser.parse_args()
    until, made = time.monotonic() + told.seconds, Counter[str]()
    edges = [(told.rest, attack_rest.ATTACKS)] * REST_THREADS + [(told.grpc, attack_grpc.ATTACKS)] * GRPC_THREADS
    with ThreadPoolExecutor(len(edges)) as threads:
        ends = [threads.submit(attack, *edge, f"{told.seed}/{number}", until) for number, edge in enumerate(edges)]
        for end in ends:
            made += end.result()
    sys.stdout.writelines(f"{name}: {times}\n" for name, times in sorted(made.items()))


if __name__ == "__main__":
    main()

"""Rounds: a writer is killed at some point of some commit, started again and killed again; nothing is lost or doubled.

A round follows from its seed. `make test-faults ROUNDS=500` runs many of them; a failing one prints the line that runs
it again.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from conjoin.fault_points import POINTS, VARIABLE
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.processes import KILLED, Fault, end, start, write

ROUNDS = int(os.environ.get("ROUNDS", "40"))
POSTGRES_ROUNDS = max(ROUNDS // 10, 4)
KILLS = 4
REQUESTS = 25
COMMIT_POINTS = ("begun", "loaded", "decided", "encoded", "writing", "written", "committed")
_OF_POST = ("delivering", "delivered")


class Blow(NamedTuple):
    """A fault, and how the writer works that it strikes: so many threads through the inline runner, or none."""

    fault: Fault
    threads: int

    def __str__(self) -> str:
        return f"{self.fault} with {self.threads} threads"


def blows_of(rng: Random, shards: int) -> Iterator[Blow]:
    """The first one is sure to strike, most others do. Threads share commits, and post is rarer than commits."""
    points = [point for point in POINTS if shards > 1 or point not in _OF_POST]
    for number in range(KILLS):
        threads = rng.choice([0, 0, 3]) if number else 0
        point = rng.choice(points if number else COMMIT_POINTS)
        most = 3 if point in _OF_POST or not number else 6 if threads else REQUESTS
        yield Blow(Fault(point, rng.randint(1, most)), threads)


def play(at: Round, blows: Iterable[Blow]) -> list[str]:
    """Those that killed somebody."""
    struck = []
    for number, blow in enumerate(blows):
        chapter = at.chapter(number * REQUESTS, REQUESTS, threads=blow.threads)
        ended = end(start(write, chapter, blow.fault))
        assert ended in (0, KILLED), f"{blow}: the writer ended with {ended}"
        if ended == KILLED:
            struck.append(str(blow))
    assert end(start(write, at.chapter(KILLS * REQUESTS, REQUESTS, ends=True))) == 0
    return struck


def check_round(make: MakeRound, seed: int, test: str, number: int) -> None:
    rng = Random(f"{seed}/{number}")
    shards = rng.choice([1, 3])
    at = make(f"{seed}/{number}", shards)
    struck = play(at, blows_of(rng, shards))
    finding = at.finding()
    again = f"SEED={seed} ROUNDS={ROUNDS} .venv/bin/python -m pytest 'tests/faults/test_kills.py::{test}[{number}]'"
    assert finding == ("yes", ""), f"{finding.sentence}\nkilled at {', '.join(struck)}\nagain: {again}"
    assert struck, f"nobody was killed\nagain: {again}"


@pytest.mark.parametrize("number", range(ROUNDS))
def test_killed_writers_lose_nothing_and_do_nothing_twice(on_sqlite: MakeRound, seed: int, number: int) -> None:
    check_round(on_sqlite, seed, "test_killed_writers_lose_nothing_and_do_nothing_twice", number)


@pytest.mark.parametrize("number", range(POSTGRES_ROUNDS))
def test_killed_writers_on_postgres_lose_nothing(on_postgres: MakeRound, seed: int, number: int) -> None:
    check_round(on_postgres, seed, "test_killed_writers_on_postgres_lose_nothing", number)


@pytest.mark.parametrize("point", POINTS)
def test_every_point_is_passed_and_kills(on_sqlite: MakeRound, seed: int, point: str) -> None:
    at = on_sqlite(f"{seed}/{point}", 3)
    assert end(start(write, at.chapter(0, 60), Fault(point, 1))) == KILLED
    assert end(start(write, at.chapter(60, REQUESTS, ends=True))) == 0
    assert at.finding() == ("yes", "")


def test_a_process_started_by_a_person_dies_where_its_environment_says(on_sqlite: MakeRound, seed: int) -> None:
    at = on_sqlite(str(seed), 1)
    told = ["--store", at.store, "--history", str(at.history), "--seed", at.seed, "--count", "10"]
    environment = {**os.environ, VARIABLE: "written:3"}
    ended = subprocess.run([sys.executable, "-m", "tests.faults.writer", *told], env=environment, cwd=Path.cwd())
    assert ended.returncode == KILLED
    assert end(start(write, at.chapter(20, 5, ends=True))) == 0
    assert at.finding() == ("yes", "")

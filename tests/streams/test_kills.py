"""A stream whose driver is killed (as `kill -9` does) again and again, and started again: every row exactly once.

It dies at a time, at a named point of a commit of its own, or when one of its workers comes to such a point; its JVM
may die with it, or alone. A run follows from its seed, as far as processes follow anything.
`ROUNDS=20 make test-streams` kills twenty times.
"""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest

from conjoin.fault_points import POINTS
from conjoin.fault_points import VARIABLE as FAULT
from tests.streams.deadly_daemon import VARIABLE as BLOW
from tests.streams.deadly_daemon import VICTIMS
from tests.streams.stream import PATIENCE_S, ROWS, Stream, end

pytestmark = pytest.mark.spark

ROUNDS = int(os.environ.get("ROUNDS") or 5)
FILES_AT_FIRST, FILES_A_ROUND = 3, 7
LOOK_S = 0.25
WRONG = 2
"""How a command ends that tells what is wrong."""
COMMIT_POINTS = [point for point in POINTS if point not in ("delivering", "delivered")]


class Blow(NamedTuple):
    """`who` comes to a point for the nth time, or it is killed so many seconds after its first commit."""

    who: str
    point: str
    nth: int
    victims: str
    seconds: float

    def environment(self) -> dict[str, str]:
        if self.who == "worker":
            return {BLOW: f"{self.point}:{self.nth}:{self.victims}"}
        return {FAULT: f"{self.point}:{self.nth}"} if self.who == "driver" else {}


def drawn(rng: Random) -> Iterator[Blow]:
    """Each kind in its turn, in an order of chance."""
    kinds = [*(("worker", victims) for victims in VICTIMS), ("driver", ""), ("clock", "")]
    while True:
        for who, victims in rng.sample(kinds, len(kinds)):
            points = POINTS if who == "driver" else COMMIT_POINTS
            yield Blow(who, rng.choice(points), rng.randint(1, 3), victims, rng.uniform(0, 3))


def play(stream: Stream, blow: Blow) -> str:
    """One life of the stream: how it ended."""
    for _ in range(FILES_AT_FIRST):
        stream.feed()
    before, fed = stream.taken(), FILES_AT_FIRST
    process = stream.start(blow.environment(), "--every", "0.2")
    deadline = time.monotonic() + PATIENCE_S
    try:
        while process.poll() is None and time.monotonic() < deadline:
            time.sleep(LOOK_S)
            if stream.taken() == before:
                continue
            if blow.who == "clock":
                time.sleep(blow.seconds)
                return "killed by the clock"
            if fed < FILES_A_ROUND:
                stream.feed()
                fed += 1
            elif stream.taken() == stream.rows_in():
                return "killed when all was done"
        assert process.poll() is not None, f"neither dead nor done after {PATIENCE_S} seconds"
        expected = WRONG if blow.victims == "java" else -signal.SIGKILL
        assert process.returncode == expected, f"{blow}: ended with {process.returncode}\n{stream.out.read_text()}"
        return f"ended with {process.returncode}"
    finally:
        end(process)


def last_run(stream: Stream) -> dict[str, int]:
    """Once, with a checkpoint that knows nothing: it sees all rows again, and takes those that nobody took."""
    stream.checkpoint = "last"
    process = stream.start({}, "--once", "--json")
    try:
        assert process.wait(PATIENCE_S) == 0, stream.out.read_text()
    except subprocess.TimeoutExpired:
        end(process)
        raise
    told: dict[str, int] = json.loads(stream.out.read_text().splitlines()[-1])
    return told


def test_stream_that_is_killed_and_started_again_takes_every_row_once(tmp_path: Path, seed: int) -> None:
    rng = Random(f"{seed}/streams")
    stream = Stream(tmp_path)
    history = []
    for number, blow in zip(range(ROUNDS), drawn(rng), strict=False):
        if number == ROUNDS // 2:
            stream.checkpoint = "second"
        history.append(f"{blow}: {play(stream, blow)}")
        (tmp_path / "history").write_text("\n".join(history))
    told = last_run(stream)
    lines = "\n".join(history)
    assert told["rows"] == stream.rows_in() == stream.files * (ROWS + 1), lines
    assert told["rows"] == told["messages"] + told["dead_letters"] + told["repeated"], lines
    stream.check()
    assert sum("killed" not in line for line in history) >= ROUNDS // 3, f"hardly anybody died:\n{lines}"

"""Any cutting of a history into batches says what one run of tables says, row for row."""

import os
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from tests.pipeline.many import AS_OF, Many
from tests.pipeline.streaming.cuttings import (
    KEPT,
    OUT,
    Tables,
    cut,
    in_words,
    of_one_run,
    of_stream,
    one_run,
    play,
    stream_of,
    tables_of,
)

ROUNDS = int(os.environ.get("ROUNDS") or 25)
HISTORIES = 20
MS_US = 1_000
NOT_COMPARED = {"detail", "row"}
"""What is told beside a verdict: a message that has expired learns of the next subscription only if that comes soon."""


@pytest.mark.parametrize("number", range(ROUNDS))
def test_any_cutting_says_what_one_run_says(number: int, seed: int, tmp_path: Path) -> None:
    rng = Random(f"{seed}/cutting/{number}")
    many = Many(seed + 1_000 * number, HISTORIES)
    tables = tables_of(many, rng)
    lateness_us = rng.choice([0, 0, 1, 3]) * MS_US
    one_run(tmp_path / "one", tables, many.policies())
    stream = stream_of(tmp_path, many.policies(), lateness_us, rng.choice([1, 5, 16]), rng.choice([1, 2, 3]))
    batches = list(cut(tables, rng, lateness_us))
    play(batches, tables["starts"], stream)
    told = (
        f"seed {seed}, number {number}, lateness {lateness_us}, batches {[sum(map(len, b.values())) for b in batches]}"
    )
    check(tmp_path, told)
    assert stream.last is not None
    held = stream.last.held()
    expected = of_one_run(tmp_path / "one")
    assert [held.open, held.buffered, held.locks, held.ids] == [len(expected[name]) for name in KEPT], told
    # Counted from outside: whatever came in is decided, a dead letter, or waits.
    messages = len(tables["messages"])
    dead = Counter(row["table"] for row in of_stream(tmp_path)["dead_letters"])["messages"]
    assert messages == len(of_stream(tmp_path)["verdicts"]) + dead + held.buffered + pending_messages(tables), told


def check(folder: Path, told: str) -> None:
    expected, found = of_one_run(folder / "one"), of_stream(folder)
    for name in OUT:
        columns = [column for column in (expected[name] or found[name] or [{}])[0] if column not in NOT_COMPARED]
        one, other = in_words(expected[name], columns), in_words(found[name], columns)
        missing, more = Counter(one) - Counter(other), Counter(other) - Counter(one)
        assert not missing, f"{told}: {name} lacks {list(missing)[:3]}, and has {list(more)[:3]}"
        assert not more, f"{told}: {name} has {list(more)[:3]}"


def pending_messages(tables: Tables) -> int:
    return sum(row["published_at"] > AS_OF for row in tables["messages"])

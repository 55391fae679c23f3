"""Any cutting of a history into batches says what one run of tables says, row for row."""

import os
from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from conjoin.errors import InputError
from conjoin.pipeline.streaming import bucket_fold
from conjoin.pipeline.streaming.state_rows import in_order
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


@pytest.mark.parametrize(("rows", "in_bytes"), [(1, 1 << 60), (1 << 60, 1), (1 << 60, 2_000)])
def test_any_size_of_groups_says_what_one_run_says(
    rows: int, in_bytes: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = Random(f"{seed}/groups")
    many = Many(seed, HISTORIES)
    tables = tables_of(many, rng)
    one_run(tmp_path / "one", tables, many.policies())
    monkeypatch.setattr(bucket_fold, "GROUP_ROWS", rows)
    monkeypatch.setattr(bucket_fold, "GROUP_BYTES", in_bytes)
    most: list[int] = []
    fold = bucket_fold.BucketTask._fold

    def folded(task: bucket_fold.BucketTask, group: Any) -> None:
        most.append(len(group.buckets))
        fold(task, group)

    monkeypatch.setattr(bucket_fold.BucketTask, "_fold", folded)
    play(cut(tables, rng, 0), tables["starts"], stream_of(tmp_path, many.policies(), 0, buckets=16, tasks=2))
    check(tmp_path, f"seed {seed}")
    assert max(most) == 1 if in_bytes != 2_000 else 1 < max(most) < 8


def test_a_bucket_that_arrow_cannot_hold_as_one_is_refused_and_not_cut() -> None:
    """More than 2 GiB of texts; here what Arrow makes of them."""
    two = pa.table({"key": pa.chunked_array([["a"], ["b"]])})
    too_large = SimpleNamespace(num_rows=2, combine_chunks=lambda: two)
    with pytest.raises(InputError, match="one bucket has 2 rows and more than 2 GiB in a column of texts"):
        in_order(too_large)  # type: ignore[arg-type]


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

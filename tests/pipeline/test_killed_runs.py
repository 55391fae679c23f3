"""A run of tables whose process is killed in its commit: a reader finds the rows of one run, never of two."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from conjoin.fault_points import VARIABLE as FAULT
from conjoin.pipeline.correlate.results import NAMES
from conjoin.pipeline.correlate.writing.run_folder import DECIDED, DONE, STAGING, read_run

pytestmark = pytest.mark.spark

KILLED = -9


def write_day(folder: Path, day: str) -> list[str]:
    """Two days of which no row is the same."""
    folder.mkdir()
    messages = [
        {"position": n, "name": "Paid", "correlation_key": f"{day}-{n}", "published_at": f"2026-02-{day}T09:00:00Z"}
        for n in range(40)
    ]
    waiting = [
        {
            "process_id": "order",
            "name": "Paid",
            "correlation_key": f"{day}-{n}" if n % 2 else f"{day} - {n}",
            "opened_at": f"2026-02-{day}T08:00:00Z",
            "subscription_id": f"s-{day}-{n}",
        }
        for n in range(40)
    ]
    flags = []
    for table, rows in (("messages", messages), ("subscriptions", waiting)):
        (folder / f"{table}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        flags += [f"--{table}", str(folder / f"{table}.jsonl")]
    return flags


def correlate(flags: list[str], out: Path, fault: str = "") -> int:
    """In a process of its own; what it exits with."""
    environment = os.environ | ({FAULT: fault} if fault else {})
    program = Path(sys.executable).with_name("conjoin")
    command = [program, "spark", "correlate", *flags, "--out", out, "--overwrite", "--partitions", "2"]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, capture_output=True, timeout=240, check=False
    )
    assert done.returncode in (0, KILLED), done.stderr.decode()
    return done.returncode


def read(out: Path) -> dict[str, list[dict[str, Any]]]:
    found = {}
    for table in NAMES:
        rows = pq.read_table(out / table).to_pylist() if (out / table).exists() else []
        found[table] = sorted(rows, key=str)
    return found


def test_run_killed_in_its_commit_leaves_one_run_and_the_next_one_finishes_it(tmp_path: Path) -> None:
    first, second = (write_day(tmp_path / day, day) for day in ("01", "02"))
    out, other = tmp_path / "out", tmp_path / "other"
    assert correlate(first, out) == 0
    assert correlate(second, other) == 0
    old, new = read(out), read(other)
    assert len(old["verdicts"]) == len(new["near_misses"]) * 2 == 40

    assert correlate(second, out, "run_staged:1") == KILLED
    assert (out / STAGING).exists()
    assert not (out / DECIDED).exists()
    assert read(out) == old
    assert json.loads((out / DONE).read_text())["rows"]["verdicts"] == 40

    # Decided, and nothing is moved yet; then all of it is, by the next run, which is killed before it says so itself.
    for point, seen in (("run_decided:1", old), ("run_moved:1", new)):
        assert correlate(second, out, point) == KILLED
        assert read_run(str(out)) is None
        assert read(out) == seen

    assert correlate(second, out) == 0
    assert read(out) == new
    assert sorted(file.name for file in out.iterdir()) == sorted([DONE, *NAMES])

"""A stream of tables whose driver or worker is killed (as `kill -9` does), and started again: every row exactly once.

`ROUNDS=20 make test-streams` kills twenty times.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from random import Random

import pyarrow.parquet as pq
import pytest

from conjoin.fault_points import OF_STREAMS
from conjoin.fault_points import VARIABLE as FAULT
from tests.streams.deadly_daemon import DRIVER
from tests.streams.deadly_daemon import VARIABLE as BLOW

pytestmark = pytest.mark.spark

ROUNDS = int(os.environ.get("ROUNDS") or 2)
PAIRS = 60
PATIENCE_S = 120
IN_A_WORKER = ("bucket_written", "file_written")
KINDS = [*((FAULT, point, "driver") for point in OF_STREAMS[1:])]
KINDS += [(BLOW, point, victims) for point in IN_A_WORKER for victims in ("driver", "both", "zombie")]


def feed(folder: Path, number: int) -> None:
    """A file of each table: half of the messages come before those that wait for them, some for nobody."""
    minute = f"2026-03-01T{number // 60:02}:{number % 60:02}"
    messages = [
        {
            "position": number * 1_000 + row,
            "name": "Paid",
            "correlation_key": f"{number}-{row}",
            "published_at": f"{minute}:{10 if row % 2 else 30}Z",
            "ttl_ms": 8_640_000_000,
        }
        for row in range(PAIRS)
    ]
    waiting = [
        {
            "process_id": "order",
            "name": "Paid",
            "correlation_key": f"{number}-{row}",
            "opened_at": f"{minute}:20Z",
            "subscription_id": f"s-{number}-{row}",
            "instance_id": f"i-{number}-{row}",
        }
        for row in range(PAIRS)
        if row % 3
    ]
    for table, rows in (("messages", messages), ("subscriptions", waiting)):
        (folder / table).mkdir(exist_ok=True)
        hidden = folder / table / f".{number:04}.jsonl"
        hidden.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        hidden.rename(folder / table / f"{number:04}.jsonl")


def life(folder: Path, environment: dict[str, str]) -> int:
    """One life of the stream; what it ends with."""
    settings = {
        "CONJOIN_MASTER": "local[2]",
        "PYSPARK_SUBMIT_ARGS": "--conf spark.python.daemon.module=tests.streams.deadly_daemon pyspark-shell",
        "PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *filter(None, sys.path)]),
        "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1",
    }
    command = [sys.executable, "-m", "tests.streams.tables_stream", str(folder)]
    with (folder / "said").open("wb") as out:
        process = subprocess.Popen(
            ["/bin/sh", "-c", f'export {DRIVER}=$$; exec "$@"', "sh", *command],
            env={**os.environ, **settings, **environment},
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            return process.wait(PATIENCE_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def test_stream_of_tables_that_is_killed_and_started_again_tells_every_row_once(tmp_path: Path, seed: int) -> None:
    rng = Random(f"{seed}/tables")
    kinds = [kind for _ in range(ROUNDS) for kind in rng.sample(KINDS, len(KINDS))][:ROUNDS]
    files, history = 0, []
    for variable, point, victims in kinds:
        for _ in range(4):
            feed(tmp_path, files)
            files += 1
        nth = rng.randint(1, 2)
        blow = f"{point}:{nth}" if variable == FAULT else f"{point}:{nth}:{victims}"
        history.append(f"{variable}={blow}: ended with {life(tmp_path, {variable: blow})}")
    # Far behind all others, so that time goes on for them.
    feed(tmp_path, files + 30)
    ended = life(tmp_path, {})
    told = "\n".join([f"seed {seed}", *history, (tmp_path / "said").read_text()])
    assert ended == 0, told
    assert any(f"ended with {-signal.SIGKILL}" in line for line in history), told
    out = {name: pq.read_table(tmp_path / "out" / name).to_pylist() for name in ("correlations", "dead_letters")}
    assert out["dead_letters"] == [], told
    pairs = Counter(row["position"] for row in out["correlations"])
    expected = {number * 1_000 + row for number in range(files) for row in range(PAIRS) if row % 3}
    assert set(pairs) == expected, told
    assert set(pairs.values()) == {1}, told
    assert not list((tmp_path / "out" / "verdicts").iterdir()), "they can still be taken by others"

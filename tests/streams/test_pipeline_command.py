"""`conjoin pipeline run` as its user meets it: a full disk is one line, Ctrl-C is none, and nothing is lost."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml

from conjoin.fault_points import VARIABLE as FAULT
from tests.cluster.java_servers import free_ports

pytestmark = pytest.mark.spark

ROWS = 60_000
PATIENCE_S = 180
COLUMNS = {"position": "no", "name": "'Paid'", "correlation_key": "order", "published_at": "at"}


def declare(folder: Path, state: Path) -> Path:
    """Messages that somebody waits for, all at one time but for the last."""
    for table in ("paid", "waiting"):
        (folder / table).mkdir()
    lines = [{"no": n, "order": f"o-{n}", "at": f"2026-03-01T09:0{n // (ROWS - 1)}:00Z"} for n in range(ROWS)]
    (folder / "paid" / "1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    who = {"process_id": "order", "name": "Paid", "opened_at": "2026-03-01T08:00:00Z"}
    waits = [who | {"correlation_key": f"o-{n}", "instance_id": f"i-{n}"} for n in range(ROWS)]
    (folder / "waiting" / "1.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in waits))
    messages = {"path": str(folder / "paid"), "format": "jsonl", "types": "no long, order string, at string"}
    types = "process_id string, name string, opened_at string, correlation_key string, instance_id string"
    waiting = {"path": str(folder / "waiting"), "format": "jsonl", "types": types, "stream": False}
    declared: dict[str, Any] = {"sources": {"messages": messages | {"columns": COLUMNS}, "subscriptions": waiting}}
    declared["correlate"] = {"state": str(state), "out": str(folder / "out"), "buckets": 16}
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(declared))
    return file


def start(file: Path, *options: str, **environment: str) -> "subprocess.Popen[str]":
    settings = {"CONJOIN_MASTER": "local[2]", "JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1"}
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("conjoin")), "pipeline", "run", str(file), *options],
        env={**os.environ, **settings, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def ended(command: "subprocess.Popen[str]") -> tuple[int, str]:
    """Its code, and what it has told people."""
    try:
        _, told = command.communicate(timeout=PATIENCE_S)
    finally:
        command.kill()
    assert "\tat " not in told, told
    assert "Traceback" not in told, told
    return command.returncode, told


def once(file: Path) -> None:
    code, told = ended(start(file, "--once"))
    assert code == 0, told


def check(folder: Path) -> None:
    """All but the last one, which waits for others that may come before it."""
    pairs = pq.read_table(folder / "out" / "correlations").column("position").to_pylist()
    assert sorted(pairs) == list(range(ROWS - 1))


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)], check=False)
    if mounted.returncode:
        pytest.skip("no right to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_the_next_run_takes_the_batch(small_disk: Path, tmp_path: Path) -> None:
    file = declare(tmp_path, small_disk / "state")
    code, told = ended(start(file, "--once"))
    assert (code, told.splitlines()[-1]) == (2, "conjoin: the disk is full: No space left on device")
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    once(file)
    check(tmp_path)


def test_ctrl_c_in_the_middle_of_a_batch_is_quiet_and_loses_nothing(tmp_path: Path) -> None:
    state = tmp_path / "state"
    file = declare(tmp_path, state)
    # The first batch writes no outputs, so it is the second whose workers fall asleep.
    [port] = free_ports(1)
    command = start(file, "--metrics", str(port), **{FAULT: "file_written:1:600"})

    def in_the_middle() -> bool:
        """The first batch is what there was before; of the second there are files that nobody names."""
        first = (state / "_committed" / "000000000000.json").exists()
        return first and any(state.glob("buckets/000000000001-*.parquet"))

    wait_for(in_the_middle, command)
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
        figures = page.read().decode()
    assert f'conjoin_pipeline_rows_total{{pipeline="pipeline"}} {ROWS}.0' in figures
    os.kill(command.pid, signal.SIGINT)
    code, told = ended(command)
    assert code == 0, told
    assert not (state / "_committed" / "000000000001.json").exists()
    once(file)
    check(tmp_path)


def test_a_schedule_is_seen_by_prometheus(tmp_path: Path) -> None:
    for table, row in (
        ("arriving", {"id": "m-1", "name": "Paid", "key": "a"}),
        (
            "waiting",
            {"process_id": "order", "name": "Paid", "correlation_key": "a", "opened_at": "2026-03-01T08:00:00Z"},
        ),
    ):
        (tmp_path / table).mkdir()
        (tmp_path / table / "1.jsonl").write_text(json.dumps(row))
    types = {"arriving": "id string, name string, key string"}
    types["waiting"] = "process_id string, name string, correlation_key string, opened_at string"
    sources = {
        name: {"path": str(tmp_path / table), "format": "jsonl", "types": types[table], "stream": False}
        for name, table in (("messages", "arriving"), ("subscriptions", "waiting"))
    }
    inbox = {"poll_initial_delay": "0s"}
    file = tmp_path / "schedule.yaml"
    file.write_text(
        yaml.safe_dump({"sources": sources, "schedule": {"tables": str(tmp_path / "inbox"), "inbox": inbox}})
    )
    [port] = free_ports(1)
    command = start(file, "--metrics", str(port))
    counted = 'conjoin_pipeline_out_total{output="correlated",pipeline="schedule"} 1.0'

    def seen() -> bool:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
                return counted in page.read().decode()
        except OSError:
            return False

    wait_for(seen, command)
    os.kill(command.pid, signal.SIGINT)
    code, told = ended(command)
    assert code == 0, told


def wait_for(seen: Callable[[], bool], command: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not seen():
        assert command.poll() is None, ended(command)
        assert time.monotonic() < deadline, "nobody came to the point"
        time.sleep(0.05)

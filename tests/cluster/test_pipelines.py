"""Each way of a pipeline file on a cluster, a worker of which is killed in the middle: every row is counted."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from pyarrow import fs

from conjoin.fault_points import VARIABLE as FAULT
from conjoin.pipeline.streaming.manifest import StateFolder
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.store import tables as t
from tests.cluster.java_servers import JavaServer
from tests.cluster.standalone import Cluster
from tests.cluster.test_cluster import RUN_S, await_open_transaction, said, start

pytestmark = pytest.mark.spark

FILES, ROWS = 6, 400
BROKEN = 4
"""Of the rows of a file, so many have no name."""
TYPES = {
    "paid": "no long, name string, order string, at string",
    "waiting": "process_id string, name string, correlation_key string, opened_at string, instance_id string",
}
COLUMNS = {"position": "no", "name": "name", "correlation_key": "order", "published_at": "at", "ttl_ms": "3600000L"}

MAPPING = {"name": "= name", "key": "= order", "id": "= string(no)", "ttl": "1h", "variables": "= {no: no}"}


def write_rows(folder: Path) -> int:
    """Every second one is waited for. So many messages."""
    for table in TYPES:
        (folder / table).mkdir()
    for file in range(FILES):
        paid, waiting = [], []
        for row in range(ROWS):
            number = file * ROWS + row
            name = None if row < BROKEN else "Paid"
            paid.append(
                {"no": number, "name": name, "order": f"o-{number}", "at": f"2026-03-01T0{file}:{row % 60:02}:30Z"}
            )
            if row % 2:
                who = {
                    "process_id": "order",
                    "name": "Paid",
                    "correlation_key": f"o-{number}",
                    "instance_id": f"i-{number}",
                }
                waiting.append(who | {"opened_at": f"2026-03-01T0{file}:00:00Z"})
        for table, rows in (("paid", paid), ("waiting", waiting)):
            (folder / table / f"{file}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return FILES * ROWS


def source(folder: Path, table: str, **more: Any) -> dict[str, Any]:
    return {"path": (folder / table).as_uri(), "format": "jsonl", "types": TYPES[table], **more}


def correlating(folder: Path, *, stream: bool) -> dict[str, Any]:
    slowly: dict[str, Any] = {"options": {"maxFilesPerTrigger": 1}} if stream else {}
    messages = source(folder, "paid", columns=COLUMNS, stream=stream, **slowly)
    sources = {"messages": messages, "subscriptions": source(folder, "waiting", stream=False)}
    it: dict[str, Any] = {"out": (folder / "out").as_uri()}
    if stream:
        it |= {"state": (folder / "state").as_uri(), "buckets": 8, "tasks": 4}
    return {"sources": sources, "correlate": it}


@contextmanager
def running(folder: Path, declared: dict[str, Any], cluster: Cluster) -> "Iterator[subprocess.Popen[str]]":
    file = folder / "pipeline.yaml"
    file.write_text(yaml.safe_dump(declared))
    command = start("conjoin", "pipeline", "run", str(file), "--once", "--json", "--master", cluster.url)
    try:
        yield command
    finally:
        command.kill()


def kill_when(seen: Callable[[], bool], cluster: Cluster, doomed: JavaServer, command: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + RUN_S
    while not seen():
        assert command.poll() is None, said(command)
        assert time.monotonic() < deadline, "nobody came to the point"
        time.sleep(0.05)
    cluster.kill(doomed)


def of_output(folder: Path, table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.read_table(folder / "out" / table).to_pylist()
    return found


def check_pairs(folder: Path, pending: int = 0) -> None:
    """Everybody who waits has got what was sent, unless it is not decided yet, and nothing was told twice."""
    pairs = Counter((row["position"], row["instance_id"]) for row in of_output(folder, "correlations"))
    assert set(pairs.values()) == {1}
    expected = {file * ROWS + row for file in range(FILES) for row in range(BROKEN, ROWS) if row % 2}
    found = {position for position, _ in pairs}
    assert found <= expected
    assert len(expected) - len(found) <= pending
    verdicts = Counter(row["position"] for row in of_output(folder, "verdicts"))
    assert set(verdicts.values()) == {1}


def test_streams_are_correlated_once_though_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    messages = write_rows(tmp_path)
    cluster.clear()
    doomed = cluster.add_worker(**{FAULT: "bucket_written:7:600"})
    cluster.add_worker()
    state = tmp_path / "state"

    def asleep() -> bool:
        """What it has written belongs to a batch that nobody has committed."""
        written = {int(file.name.partition("-")[0]) for file in (state / "buckets").glob("*.parquet")}
        committed = [int(file.stem) for file in (state / "_committed").glob("0*.json")]
        return len(written) > 1 and max(written) > max(committed, default=-1)

    with running(tmp_path, correlating(tmp_path, stream=True), cluster) as command:
        kill_when(asleep, cluster, doomed, command)
        told = json.loads(said(command))
    last = StateFolder(fs.LocalFileSystem(), str(state)).latest()
    assert last is not None
    held = last.held()
    check_pairs(tmp_path, held.pending)
    dead = Counter(row["table"] for row in of_output(tmp_path, "dead_letters"))
    decided = len(of_output(tmp_path, "verdicts"))
    assert dead == {"messages": FILES * BROKEN}
    # The latest rows of all wait for others that may come before them.
    assert messages == decided + dead["messages"] + held.buffered + held.pending, (held, told)
    assert told["rows"] == last.total_rows == messages + FILES * ROWS // 2


def test_tables_are_correlated_once_though_a_worker_is_killed(cluster: Cluster, tmp_path: Path) -> None:
    messages = write_rows(tmp_path)
    cluster.clear()
    doomed = cluster.add_worker(**{FAULT: "file_written:1:600"})
    cluster.add_worker(**{FAULT: "file_written:1:5"})
    with running(tmp_path, correlating(tmp_path, stream=False), cluster) as command:
        kill_when(lambda: any((tmp_path / "out").glob("_writing/*/*/part-*.parquet")), cluster, doomed, command)
        told = json.loads(said(command))
    check_pairs(tmp_path)
    dead = len(of_output(tmp_path, "dead_letters"))
    assert messages == len(of_output(tmp_path, "verdicts")) + dead
    assert (told["rows"], dead) == (messages + FILES * ROWS // 2, FILES * BROKEN)


def into_a_store(folder: Path, url: str, **more: Any) -> dict[str, Any]:
    messages = {"path": (folder / "paid").as_uri(), "format": "jsonl"}
    to = {"store": url, "source": "payments", **more}
    declared = {"sources": {"messages": messages}, "checkpoint": (folder / "checkpoint").as_uri()}
    return declared | {"receive" if "channel" in more else "publish": to}


def test_rows_are_published_once_though_a_worker_is_killed(
    cluster: Cluster, postgres_server: Any, tmp_path: Path
) -> None:
    rows = write_rows(tmp_path)
    url = postgres_server.new_database()
    create_broker(url, 4).close()
    cluster.clear()
    doomed = cluster.add_worker(**{FAULT: "written:1:600"})
    cluster.add_worker()
    with running(tmp_path, into_a_store(tmp_path, url, mapping=MAPPING), cluster) as command:
        await_open_transaction(url, command)
        cluster.kill(doomed)
        told = json.loads(said(command))
    with closing(open_broker(url)) as broker:
        numbers = Counter(json.loads(row.variables)["no"] for row in broker.store.rows(t.MESSAGE, {}, None, 2 * rows))
        dead = sum(1 for _ in broker.store.rows(t.DEAD_LETTER, {}, None, rows))
    assert (told["rows"], dead) == (rows, FILES * BROKEN)
    assert rows == len(numbers) + dead
    assert set(numbers.values()) == {1}


def test_rows_are_received_once_though_a_worker_is_killed(
    cluster: Cluster, postgres_server: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = write_rows(tmp_path)
    url = postgres_server.new_database()
    create_broker(url, 4).close()
    settings = tmp_path / "conjoin.toml"
    fields = ", ".join(f'{name} = "{MAPPING[name]}"' for name in ("name", "key", "id", "variables"))
    settings.write_text(f"[inbox]\n[inbox.channels.payments]\nmapping = {{ {fields} }}\n")
    monkeypatch.setenv("CONJOIN_CONFIG", str(settings))
    cluster.clear()
    doomed = cluster.add_worker(**{FAULT: "written:1:600"})
    cluster.add_worker()
    with running(tmp_path, into_a_store(tmp_path, url, channel="payments"), cluster) as command:
        await_open_transaction(url, command)
        cluster.kill(doomed)
        said(command)
    with closing(open_broker(url)) as broker:
        waiting = Counter(row.message_id for row in broker.store.rows(t.INBOX, {}, None, 2 * rows))
        dead = sum(1 for _ in broker.store.rows(t.DEAD_LETTER, {}, None, rows))
    assert rows == len(waiting) + dead
    assert dead == FILES * BROKEN
    assert set(waiting.values()) == {1}

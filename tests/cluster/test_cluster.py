"""The commands on a cluster: though a worker is killed in mid-batch, every row is as if messages were sent inline."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet
import pytest

from conjoin.fault_points import VARIABLE as FAULT
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.store import tables as t
from tests.bpmn.snippets import END, catch, message, model
from tests.cluster.standalone import Cluster, cluster_environment
from tests.oracle.model import play
from tests.pipeline.many import AS_OF, SCHEMAS, Many, instant, merged

pytestmark = pytest.mark.spark

SHARDS = 4
ORDERS = 2_500
HOUR_MS = 3_600_000
RUN_S = 240
STARTED = '<startEvent id="placed"><messageEventDefinition messageRef="placed_message"/></startEvent>\n'
MODEL = model(
    STARTED + catch("pay", "paid") + END,
    "placed>pay pay>end",
    '<message id="placed_message" name="placed"/>' + message("paid", "paid", "=order"),
)
_INSTANT = re.compile(r"\b1[78]\d{14}\b")
_KEY = re.compile(r"\b(\d{16})(,\d{5,10}\b)?")
"""In what a message remembers of a subscription its rank comes next, which is made of its key."""
ASLEEP = """
select count(*) from pg_stat_activity
where datname = current_database() and wait_event = 'ClientRead' and xact_start < now() - interval '3 seconds'
"""
_TIMES = ("deadline", "since")
SPECULATIVE = {
    "speculation": "true",
    "speculation_interval": "100ms",
    "speculation_quantile": "0.1",
    "speculation_minTaskRuntime": "1s",
}


def start(program: str, *arguments: str, **configuration: str) -> "subprocess.Popen[str]":
    """A command of the environment that the tests run in. `configuration`: of Spark, with _ for dots."""
    environment = cluster_environment()
    more = " ".join(f"--conf spark.{name.replace('_', '.')}={value}" for name, value in configuration.items())
    environment["PYSPARK_SUBMIT_ARGS"] = f"{more} {environment['PYSPARK_SUBMIT_ARGS']}"
    return subprocess.Popen(
        [Path(sys.executable).with_name(program), *arguments],
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def said(command: "subprocess.Popen[str]") -> str:
    """What it prints; it must succeed."""
    try:
        out, errors = command.communicate(timeout=RUN_S)
    finally:
        command.kill()
    assert command.returncode == 0, errors
    return out


def orders() -> Iterator[dict[str, Any]]:
    """Each is placed and paid; some are placed twice, some are paid under an id that was there before."""
    for number in range(ORDERS):
        key = f"o-{number - 1 if number % 10 == 9 else number}"
        yield {"name": "placed", "key": key, "id": f"p-{number}", "ttl": HOUR_MS, "variables": {"order": key}}
    for number in range(ORDERS):
        id_ = f"q-{number % 1_000 if number % 7 == 0 else number}"
        yield {"name": "paid", "key": f"o-{number}", "id": id_, "ttl": HOUR_MS, "variables": {"n": number}}


def write_table(folder: Path) -> None:
    """The first half as JSON lines, the second as Parquet."""
    rows = list(orders())
    (folder / "a.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows[:ORDERS]))
    paid = [{**row, "variables": json.dumps(row["variables"])} for row in rows[ORDERS:]]
    pyarrow.parquet.write_table(pa.Table.from_pylist(paid), folder / "b.parquet")


def send_inline(broker: Broker) -> None:
    with shard_threads(broker) as runner:
        asked = [
            NewMessage(row["name"], row["key"], row["variables"], row["ttl"], message_id=row["id"]) for row in orders()
        ]
        for future in [runner.submit(shard_of(one.key, SHARDS), one) for one in asked]:
            future.result()


def rows_of(broker: Broker) -> dict[str, list[str]]:
    """All of the state, but when it was. Keys are counted: those of other shards' commits leave gaps between them."""
    told = {
        table.name: [_timeless(row) for row in broker.store.rows(table, {}, None, 10 * ORDERS)] for table in t.STATE
    }
    keys = sorted({key[1] for rows in told.values() for row in rows for key in _KEY.finditer(row)})
    numbers = {key: f"key {number:05}" for number, key in enumerate(keys)}
    return {name: sorted(_KEY.sub(lambda key: numbers[key[1]], row) for row in rows) for name, rows in told.items()}


def _timeless(row: Any) -> str:
    said = {name: value for name, value in row._asdict().items() if not name.endswith("_at") and name not in _TIMES}
    return _INSTANT.sub("then", str(said))


def await_open_transaction(url: str, command: "subprocess.Popen[str]") -> None:
    """Somebody has written a batch and sleeps before it is committed."""
    deadline = time.monotonic() + RUN_S
    with psycopg.connect(url, autocommit=True) as connection:
        while connection.execute(ASLEEP).fetchone() == (0,):
            assert command.poll() is None, said(command)
            assert time.monotonic() < deadline, "nobody came to the point"
            time.sleep(0.2)


def test_worker_that_is_killed_in_mid_batch_changes_nothing(
    cluster: Cluster, postgres_server: Any, tmp_path: Path
) -> None:
    incoming = tmp_path / "incoming"
    incoming.mkdir()
    write_table(incoming)
    url = postgres_server.new_database()
    for address in (url, tmp_path / "shard_threads"):
        with closing(create_broker(address, SHARDS)) as broker:
            broker.deploy([("order.bpmn", MODEL)])
    doomed = cluster.add_worker(**{FAULT: "written:2:600"})
    cluster.add_worker()
    place = ["--store", url, "--checkpoint", (tmp_path / "checkpoint").as_uri()]
    command = start("conjoin", "ingest", str(incoming), "--master", cluster.url, "--once", "--json", *place)
    try:
        await_open_transaction(url, command)
        cluster.kill(doomed)
        told = json.loads(said(command))
    finally:
        command.kill()
    assert (told["rows"], told["dead_letters"]) == (2 * ORDERS, 0)
    # What the killed task had committed is known to the store, and no longer told.
    assert told["messages"] + told["repeated"] == told["rows"]
    assert told["repeated"] > 0
    with closing(open_broker(tmp_path / "shard_threads")) as alone, closing(open_broker(url)) as broker:
        send_inline(alone)
        expected, found = rows_of(alone), rows_of(broker)
    assert len(expected["message"]) == 2 * ORDERS
    assert len(expected["instance"]) == ORDERS
    for table, rows in expected.items():
        assert found[table] == rows, table


def write_tables(many: Many, folder: Path) -> list[str]:
    flags = []
    for table in SCHEMAS:
        rows = [{name: _written(name, value) for name, value in row.items()} for row in many.rows(table)]
        (folder / f"{table}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        flags += [f"--{table}", str(folder / f"{table}.jsonl")]
    return flags


def _written(name: str, value: Any) -> Any:
    return instant(value).isoformat() if name.endswith("_at") and value is not None else value


def test_correlate_by_spark_submit_says_what_the_oracle_says(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    many = Many(seed, 60)
    many.histories = [replace(history, profile="zeebe", policies={}) for history in many.histories]
    theirs = merged([play(history) for history in many.histories])
    cluster.add_worker()
    job = tmp_path / "conjoin_job.py"
    job.write_text("from conjoin.cli.main import main\n\nmain()\n")
    flags = [*write_tables(many, tmp_path), "--as-of", instant(AS_OF).isoformat(), "--out", str(tmp_path / "out")]
    said(start("spark-submit", "--master", cluster.url, str(job), "correlate", *flags, "--partitions", "4"))
    verdicts = pyarrow.parquet.read_table(tmp_path / "out" / "verdicts").to_pylist()
    assert {int(row["position"]): (row["verdict"], row["reason"]) for row in verdicts} == theirs.verdicts
    pairs = pyarrow.parquet.read_table(tmp_path / "out" / "correlations").to_pylist()
    ours = {(int(row["position"]), row["process_id"], row["subscription_id"]) for row in pairs}
    assert ours == {(position, process, subscription) for position, _, process, subscription, *_ in theirs.pairs}


def staged_in(out: Path) -> set[str]:
    return {file.name for file in out.glob("_writing/*/*/part-*.parquet")}


def test_worker_that_is_killed_in_mid_run_leaves_the_same_tables(cluster: Cluster, tmp_path: Path, seed: int) -> None:
    """Speculation is on: its task may run a second time beside it, and in any case after it."""
    many = Many(seed, 60)
    many.histories = [replace(history, profile="zeebe", policies={}) for history in many.histories]
    flags = [*write_tables(many, tmp_path), "--as-of", instant(AS_OF).isoformat(), "--partitions", "6"]
    undisturbed, out = tmp_path / "undisturbed", tmp_path / "out"
    said(start("conjoin", "spark", "correlate", *flags, "--out", str(undisturbed), "--master", "local[2]"))
    doomed = cluster.add_worker(**{FAULT: "file_written:2:600"})
    cluster.add_worker(**{FAULT: "file_written:1:5"})
    command = start(
        *("conjoin", "spark", "correlate", *flags, "--out", str(out), "--master", cluster.url), **SPECULATIVE
    )
    seen: set[str] = set()
    try:
        deadline = time.monotonic() + RUN_S
        while len(seen) < 4:
            assert command.poll() is None, said(command)
            assert time.monotonic() < deadline, "nobody has staged anything"
            seen |= staged_in(out)
            time.sleep(0.05)
        cluster.kill(doomed)
        while command.poll() is None and time.monotonic() < deadline:
            seen |= staged_in(out)
            time.sleep(0.05)
        said(command)
    finally:
        command.kill()
    named = json.loads((out / "_run.json").read_text())["files"]
    for table, files in named.items():
        names = {file["name"] for file in files}
        assert {file.name for file in (out / table).glob("*.parquet")} == names
        expected, found = (pyarrow.parquet.read_table(folder / table).to_pylist() for folder in (undisturbed, out))
        assert sorted(map(str, found)) == sorted(map(str, expected)), table
    # What the killed one had written is no part of the run.
    assert seen - {file["name"] for files in named.values() for file in files}
    assert not (out / "_writing").exists()

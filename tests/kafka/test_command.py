"""The command as a user runs it on Kafka: it picks up what is produced while it runs, from partitions that come up
meanwhile too, is relieved by another that dies or lives beside it, and ends as it should."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from tests.cluster.java_servers import LITTLE_JAVA
from tests.kafka.client import KafkaClient, Record

pytestmark = pytest.mark.spark

TOPIC = "orders"
PATIENCE_S = 300


def records(first: int, count: int, partitions: int = 2) -> list[Record]:
    rows = [{"name": "paid", "key": f"k-{number}", "ttl": "1h"} for number in range(first, first + count)]
    return [Record(number % partitions, None, json.dumps(row).encode()) for number, row in enumerate(rows)]


def start(kafka: KafkaClient, jars: str, folder: Path, topic: str = TOPIC, *more: str) -> "subprocess.Popen[str]":
    command = ["ingest", "--kafka", kafka.servers, "--topic", topic, "--data", "store", "--every", "0.2", "--json"]
    command += more
    return subprocess.Popen(
        [Path(sys.executable).with_name("conjoin"), *command],
        env={**os.environ, "CONJOIN_JARS": jars, "CONJOIN_MASTER": "local[2]", "JDK_JAVA_OPTIONS": LITTLE_JAVA[0]},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def keys(store: Broker) -> list[str]:
    return sorted(row.correlation_key for row in store.store.rows(t.MESSAGE, {}, None, 10_000))


def await_count(store: Broker, count: int, command: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + PATIENCE_S
    while len(keys(store)) < count:
        assert command.poll() is None
        assert time.monotonic() < deadline, f"{len(keys(store))} of {count} are there"
        time.sleep(0.1)


def test_command_takes_what_is_produced_while_it_runs_until_it_is_interrupted(
    kafka: KafkaClient, jars: str, store: Broker, tmp_path: Path
) -> None:
    kafka.produce(TOPIC, records(0, 10))
    command = start(kafka, jars, tmp_path)
    try:
        await_count(store, 10, command)
        kafka.produce(TOPIC, records(10, 30))
        await_count(store, 40, command)
        command.send_signal(signal.SIGINT)
        out, errors = command.communicate(timeout=PATIENCE_S)
    finally:
        command.kill()
    assert command.returncode == 0, errors
    assert "Traceback" not in errors
    told = json.loads(out)
    assert (told["rows"], told["messages"]) == (40, 40)
    assert keys(store) == sorted(f"k-{number}" for number in range(40))


def test_partitions_may_be_added_and_one_command_relieve_another_and_nothing_is_taken_twice(
    kafka: KafkaClient, jars: str, store: Broker, tmp_path: Path
) -> None:
    admin = pytest.importorskip("confluent_kafka.admin", reason="the extra kafka is not installed")
    client = admin.AdminClient({"bootstrap.servers": kafka.servers})
    kafka.produce("moved", records(0, 20))
    first = start(kafka, jars, tmp_path, "moved")
    second = start(kafka, jars, tmp_path, "moved", "--checkpoint", str(tmp_path / "second"))
    try:
        await_count(store, 20, first)
        client.create_partitions([admin.NewPartitions("moved", 4)])["moved"].result(PATIENCE_S)
        kafka.produce("moved", records(20, 40, partitions=4))
        await_count(store, 60, first)
        first.kill()
        kafka.produce("moved", records(60, 40, partitions=4))
        await_count(store, 100, second)
        second.send_signal(signal.SIGINT)
        out, errors = second.communicate(timeout=PATIENCE_S)
    finally:
        first.kill()
        second.kill()
    assert second.returncode == 0, errors
    assert keys(store) == sorted(f"k-{number}" for number in range(100))
    told = json.loads(out)
    # The batch that it was stopped in may be committed and not counted.
    assert told["messages"] + told["repeated"] == told["rows"] > 0
    parts = {row.message_id.rpartition(":")[0] for row in store.store.rows(t.MESSAGE, {}, None, 1_000)}
    assert parts == {f"moved-{partition}" for partition in range(4)}

"""The command as a user runs it on Kafka: it picks up what is produced while it runs, and ends as it should."""

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


def records(first: int, count: int) -> list[Record]:
    rows = [{"name": "paid", "key": f"k-{number}", "ttl": "1h"} for number in range(first, first + count)]
    return [Record(number % 2, None, json.dumps(row).encode()) for number, row in enumerate(rows)]


def start(kafka: KafkaClient, jars: str, folder: Path) -> "subprocess.Popen[str]":
    command = ["ingest", "--kafka", kafka.servers, "--topic", TOPIC, "--data", "store", "--every", "0.2", "--json"]
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

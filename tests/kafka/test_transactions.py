"""Transactions: nothing of one that was aborted is ever published, nothing of one that is open before it is over."""

import json
from pathlib import Path
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import create_broker
from conjoin.store import tables as t
from tests.kafka.client import KafkaClient

pytestmark = pytest.mark.spark
confluent_kafka = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")

TOPIC = "transfers"
PATIENCE_S = 60


class Transactions:
    """A producer that sends in transactions."""

    def __init__(self, servers: str, name: str) -> None:
        settings = {"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0}
        self._producer = confluent_kafka.Producer(settings)
        self._producer.init_transactions(PATIENCE_S)

    def begin(self, *keys: str) -> "Transactions":
        """What it sends is in the topic when this returns."""
        self._producer.begin_transaction()
        for number, key in enumerate(keys):
            row = json.dumps({"name": "paid", "key": key, "ttl": "1h"})
            self._producer.produce(TOPIC, row, key=key, partition=number % 2)
        assert self._producer.flush(PATIENCE_S) == 0
        return self

    def commit(self) -> None:
        self._producer.commit_transaction(PATIENCE_S)

    def abort(self) -> None:
        self._producer.abort_transaction(PATIENCE_S)


def keys(store: Broker) -> list[str]:
    return sorted(row.correlation_key for row in store.store.rows(t.MESSAGE, {}, None, 1_000))


def test_what_was_aborted_is_never_published_and_what_is_open_when_it_is_committed(
    kafka: KafkaClient, store: Broker, tmp_path: Path
) -> None:
    def ingest(data: str, *more: str) -> dict[str, Any]:
        asked = ["--kafka", kafka.servers, "--topic", TOPIC, "--data", str(tmp_path / data), "--once", "--json"]
        told: dict[str, Any] = json.loads(kafka.conjoin("ingest", *asked, *more))
        return told

    one, other = Transactions(kafka.servers, "one"), Transactions(kafka.servers, "other")
    one.begin("a-1", "a-2", "a-3").commit()
    one.begin("gone-1", "gone-2", "gone-3").abort()
    one.begin("b-1", "b-2").commit()
    open_one = other.begin("later-1", "later-2")
    # It was sent after the open one, and waits for it.
    one.begin("c-1", "c-2").commit()
    assert ingest("store")["messages"] == 5
    assert keys(store) == ["a-1", "a-2", "a-3", "b-1", "b-2"]
    open_one.commit()
    one.begin("gone-4").abort()
    assert ingest("store")["messages"] == 4
    expected = ["a-1", "a-2", "a-3", "b-1", "b-2", "c-1", "c-2", "later-1", "later-2"]
    assert keys(store) == expected
    again = ingest("store", "--checkpoint", str(tmp_path / "another"))
    assert (again["messages"], again["repeated"], again["dead_letters"]) == (0, 9, 0)
    # Who asks for everything gets it: the aborted records are there.
    everything = create_broker(tmp_path / "everything", 2)
    told = ingest("everything", "--option", "kafka.isolation.level=read_uncommitted")
    assert told["messages"] == 13
    assert keys(everything) == sorted([*expected, "gone-1", "gone-2", "gone-3", "gone-4"])
    everything.close()

"""Notices in a topic of a real Kafka: told under one id, and not noted as told while the broker is away."""

import json
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.notices import Notifier, read_receivers
from conjoin.runtime.notices import sending as topics
from tests.kafka.client import KafkaClient

confluent_kafka = pytest.importorskip("confluent_kafka", reason="the extra kafka is not installed")

TOPIC = "notices"
PATIENCE_S = 60


def records(servers: str, count: int) -> list[Any]:
    """So many of the topic, from its beginning."""
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": servers, "group.id": "test", "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([TOPIC])
    try:
        found = [consumer.poll(PATIENCE_S) for _ in range(count)]
        assert consumer.poll(1) is None
    finally:
        consumer.close()
    assert all(record is not None and record.error() is None for record in found)
    return found


def test_a_topic_is_told_each_notice_under_its_id_and_one_that_is_away_later(
    kafka: KafkaClient, store: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = read_receivers({"*": f"kafka://{kafka.servers}/{TOPIC}"})
    Notifier(store, there, clock=lambda: 0).round()
    for number in range(3):
        store.publish(NewMessage("paid", f"o-{number}"))
    monkeypatch.setitem(topics._CLIENT, "message.timeout.ms", 1_000)  # type: ignore[arg-type]
    away = read_receivers({"*": f"kafka://127.0.0.1:1/{TOPIC}"})
    failed = Notifier(store, away, clock=lambda: 100_000_000).round()
    assert (failed.sent, list(failed.failed)) == (0, ["*"])
    assert "Connection refused" in failed.failed["*"]
    monkeypatch.undo()
    told = Notifier(store, there, clock=lambda: 200_000_000).round()
    assert (told.sent, told.failed) == (3, {})
    found = records(kafka.servers, 3)
    said = [json.loads(record.value()) for record in found]
    assert sorted(it["correlationKey"] for it in said) == ["o-0", "o-1", "o-2"]
    assert {it["kind"] for it in said} == {"discarded"}
    for record, it in zip(found, said, strict=True):
        assert record.key().decode() == it["id"] == dict(record.headers())["id"].decode()

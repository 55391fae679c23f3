"""Events in a topic of a real Kafka: in order, each under its id, and none again unless what was sent is forgotten."""

import json
import shutil
from pathlib import Path

import pytest

from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.messages import NewMessage
from tests.kafka.client import KafkaClient, Sent

pytestmark = pytest.mark.spark

TOPIC = "events"


def events(sent: list[Sent]) -> list[tuple[int, int, int]]:
    return [(it["shard"], it["version"], it["number"]) for it in (json.loads(record.value) for record in sent)]


def test_each_event_is_a_record_with_an_id_and_a_second_run_sends_what_is_new(
    kafka: KafkaClient, store: Broker, tmp_path: Path
) -> None:
    asked = ["export", "--to", f"kafka://{kafka.servers}/{TOPIC}", "--data", str(tmp_path / "store"), "--json"]
    for number in range(10):
        store.publish(NewMessage("paid", f"o-{number}", {}, 60_000))
    first = json.loads(kafka.conjoin(*asked))["written"]["events"]
    assert json.loads(kafka.conjoin(*asked))["written"] == {"events": 0}
    store.publish(NewMessage("paid", "one more", {}, 60_000))
    assert json.loads(kafka.conjoin(*asked))["written"] == {"events": 1}
    sent = kafka.consume(TOPIC)
    assert len(sent) == first + 1 == len(set(events(sent))) == 11
    assert {json.loads(record.value)["correlation_key"] for record in sent} == {
        *(f"o-{number}" for number in range(10)), "one more"
    }  # fmt: skip
    for record, event in zip(sent, events(sent), strict=True):
        assert record.headers == [("id", "-".join(map(str, event)).encode())]
        assert record.key == str(event[0]).encode()
    for shard in range(store.shard_count):
        mine = [event for event in events(sent) if event[0] == shard]
        assert mine == sorted(mine)
    shutil.rmtree(tmp_path / "store/checkpoints")
    assert json.loads(kafka.conjoin(*asked))["written"] == {"events": 11}
    assert {record.headers[0][1] for record in kafka.consume(TOPIC)} == {record.headers[0][1] for record in sent}

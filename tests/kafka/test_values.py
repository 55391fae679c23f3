"""Values of a schema registry, headers and tombstones of a real Kafka; records that it deleted unread."""

import json
from pathlib import Path
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from tests.kafka.client import KafkaClient, Record
from tests.runtime.ingest.registry import running_registry
from tests.runtime.ingest.test_value_format import PAID, VALUE, framed

pytestmark = pytest.mark.spark

PATIENCE_S = 60


def messages(store: Broker) -> dict[str, tuple[str, str, Any]]:
    rows = store.store.rows(t.MESSAGE, {}, None, 1_000)
    return {row.message_id: (row.name, row.correlation_key, json.loads(row.variables)) for row in rows}


def letters(store: Broker) -> dict[str, str]:
    rows = store.store.rows(t.DEAD_LETTER, {}, None, 1_000)
    return {f"{row.part}:{row.position}": row.text for row in rows}


def test_avro_of_a_registry_is_a_message_and_a_tombstone_too_and_a_bad_record_a_dead_letter(
    kafka: KafkaClient, store: Broker, tmp_path: Path
) -> None:
    records = [
        Record(0, b"o-1", framed(71), [("trace", b"t-1")]),
        Record(0, b"o-1", framed(72, b"\x06o-1")),
        Record(0, b"bad", framed(71, VALUE[:3])),
        Record(0, b"unknown", framed(99)),
        Record(0, b"json", b'{"order": "o-1"}'),
        Record(0, b"o-1", None, [("why", b"withdrawn")]),
    ]
    kafka.produce("avro", records)
    asked = ["--kafka", kafka.servers, "--topic", "avro", "--mapping", str(tmp_path / "mapping.yaml"), "--once"]
    with running_registry() as registry:
        registry.add(71, PAID)
        registry.add(72, {"type": "record", "name": "Shipped", "fields": [{"name": "parcel", "type": "string"}]})
        (tmp_path / "mapping.yaml").write_text(f"""
name: '= if kafka.tombstone then "withdrawn" else if parcel != null then "shipped" else "paid"'
key: "= if kafka.tombstone then kafka.key else if parcel != null then parcel else order"
ttl: 1h
variables: "= {{sum: sum, trace: kafka.headers.trace, why: kafka.headers.why}}"
tombstones: message
value: {{format: avro, registry: "{registry.url}"}}
""")
        told = json.loads(kafka.conjoin("ingest", *asked, "--data", str(tmp_path / "store"), "--json"))
        assert set(registry.asked) == {"/schemas/ids/71", "/schemas/ids/72", "/schemas/ids/99"}
    assert (told["rows"], told["messages"], told["dead_letters"]) == (6, 3, 3)
    assert messages(store) == {
        "avro-0:0": ("paid", "o-1", {"sum": 42, "trace": "t-1", "why": None}),
        "avro-0:1": ("shipped", "o-1", {"sum": None, "trace": None, "why": None}),
        "avro-0:5": ("withdrawn", "o-1", {"sum": None, "trace": None, "why": "withdrawn"}),
    }
    assert letters(store) == {
        "avro-0:2": "is not Avro: it ends too early",
        "avro-0:3": "is not Avro: the schema registry knows no schema with the number 99",
        "avro-0:4": "is not Avro: it has no frame of a schema registry",
    }
    # It is away now. That is no record's fault: nothing is a dead letter, and the run says why it ends.
    kafka.produce("avro", [Record(0, b"o-2", framed(73))])
    said = kafka.refused("ingest", *asked, "--data", str(tmp_path / "store"))
    assert "the schema registry" in said
    assert "Traceback" not in said
    assert len(letters(store)) == 3


def test_deleted_records_are_passed_over_unless_it_is_to_be_told(
    kafka: KafkaClient, store: Broker, tmp_path: Path
) -> None:
    admin = pytest.importorskip("confluent_kafka.admin", reason="the extra kafka is not installed")
    from confluent_kafka import TopicPartition

    def rows(first: int, count: int) -> list[Record]:
        said = ({"name": "paid", "key": f"k-{number}", "ttl": "1h"} for number in range(first, first + count))
        return [Record(0, None, json.dumps(row).encode()) for row in said]

    asked = ["--kafka", kafka.servers, "--topic", "short", "--data", str(tmp_path / "store"), "--once"]
    kafka.produce("short", rows(0, 10))
    assert json.loads(kafka.conjoin("ingest", *asked, "--json"))["messages"] == 10
    kafka.produce("short", rows(10, 10))
    client = admin.AdminClient({"bootstrap.servers": kafka.servers})
    for done in client.delete_records([TopicPartition("short", 0, 15)]).values():
        done.result(PATIENCE_S)
    assert "out of range" in kafka.refused("ingest", *asked, "--fail-on-loss")
    assert len(messages(store)) == 10
    assert json.loads(kafka.conjoin("ingest", *asked, "--json"))["messages"] == 5
    assert sorted(key for _, key, _ in messages(store).values()) == sorted(
        f"k-{number}" for number in (*range(10), *range(15, 20))
    )

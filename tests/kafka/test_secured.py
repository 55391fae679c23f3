"""A broker that speaks only SASL over TLS: by a file of Kafka's own properties, and by options of a pipeline."""

import json
from pathlib import Path

import pytest

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from tests.kafka.broker import PASSWORD, KafkaBroker
from tests.kafka.client import KafkaClient, Record

pytestmark = pytest.mark.spark

TOPIC = "secret"


def keys(store: Broker) -> list[str]:
    return sorted(row.correlation_key for row in store.store.rows(t.MESSAGE, {}, None, 1_000))


def produced(kafka: KafkaClient, *names: str) -> None:
    rows = (json.dumps({"name": "paid", "key": key, "ttl": "1h"}).encode() for key in names)
    kafka.produce(TOPIC, [Record(0, None, row) for row in rows])


def test_a_secured_broker_is_read_by_its_properties_and_by_a_pipeline_and_refuses_others(
    kafka: KafkaClient, broker: KafkaBroker, store: Broker, tmp_path: Path
) -> None:
    produced(kafka, "o-1", "o-2")
    config = tmp_path / "client.properties"
    asked = ["ingest", "--kafka-config", str(config), "--topic", TOPIC, "--data", str(tmp_path / "store"), "--once"]
    config.write_text(broker.properties("wrong"))
    refused = kafka.refused(*asked)
    assert "Authentication failed" in refused
    assert "Traceback" not in refused
    assert not keys(store)
    config.write_text(broker.properties())
    assert json.loads(kafka.conjoin(*asked, "--json"))["messages"] == 2
    assert keys(store) == ["o-1", "o-2"]
    produced(kafka, "o-3")
    lines = broker.properties().replace("\\\n", "").splitlines()[1:]
    options = {f"kafka.{name}": value for name, _, value in (line.partition("=") for line in lines)}
    assert any(PASSWORD in value for value in options.values())
    said = ", ".join(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in options.items())
    pipeline = tmp_path / "pipeline.toml"
    pipeline.write_text(
        "[sources.messages]\n"
        'format = "kafka"\n'
        f'options = {{ subscribe = "{TOPIC}", {said} }}\n'
        f'[publish]\nstore = "{tmp_path / "store"}"\nsource = "kafka:{TOPIC}"\n'
    )
    told = json.loads(kafka.conjoin("pipeline", "run", str(pipeline), "--once", "--json"))
    assert (told["messages"], told["repeated"]) == (1, 2)
    assert keys(store) == ["o-1", "o-2", "o-3"]

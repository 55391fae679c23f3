"""A pipeline file from a topic into a topic: records are correlated with a table of who waits, each once."""

import json
from pathlib import Path

import pytest

from tests.kafka.client import KafkaClient, Record

pytestmark = pytest.mark.spark

FILE = """
[sources.messages]
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{servers}", subscribe = "paid" }}
types = "order string, at timestamp"
[sources.messages.columns]
position = "kafka.partition * 1000000 + kafka.offset"
name = "coalesce(kafka.headers[0].key, 'Paid')"
correlation_key = "order"
published_at = "at"

[sources.subscriptions]
path = "{folder}/waiting"
format = "jsonl"
types = "process_id string, name string, correlation_key string, opened_at string, instance_id string"
stream = false

[correlate]
state = "{folder}/state"
out = "{folder}/out"
buckets = 4

[[sinks]]
rows = "correlations"
format = "kafka"
options = {{ "kafka.bootstrap.servers" = "{servers}", topic = "pairs" }}
columns = {{ correlation_key = "correlation_key", who = "instance_id" }}
"""


def paid(partition: int, order: str, minute: int, headers: list[tuple[str, bytes]] | None = None) -> Record:
    value = {"order": order, "at": f"2026-03-01T09:{minute:02}:00Z"}
    return Record(partition, b"k", json.dumps(value).encode(), headers)


def test_records_of_a_topic_are_correlated_into_a_topic(kafka: KafkaClient, tmp_path: Path) -> None:
    (tmp_path / "waiting").mkdir()
    who = {"process_id": "order", "name": "Paid", "opened_at": "2026-03-01T08:00:00Z"}
    lines = [json.dumps(who | {"correlation_key": f"o-{n}", "instance_id": f"i-{n}"}) for n in range(4)]
    (tmp_path / "waiting" / "1.jsonl").write_text("\n".join(lines))
    file = tmp_path / "pipeline.toml"
    file.write_text(FILE.format(folder=tmp_path, servers=kafka.servers))
    broken = [Record(0, b"k", None), Record(1, b"k", b"{"), Record(0, b"k", b'{"order": "o-3"}')]
    kafka.produce("paid", [paid(0, "o-0", 1), paid(1, "o-1", 2, [("Cancelled", b"")]), *broken, paid(1, "x", 30)])
    told = json.loads(kafka.conjoin("pipeline", "run", str(file), "--once", "--json"))
    assert (told["rows"], told["dead_letters"], told["correlations"]) == (4 + 6, 3, 1)
    kafka.produce("paid", [paid(0, "o-2", 31), paid(0, "y", 40)])
    again = json.loads(kafka.conjoin("pipeline", "run", str(file), "--once", "--json"))
    assert (again["rows"], again["correlations"]) == (2, 1)
    assert json.loads(kafka.conjoin("pipeline", "run", str(file), "--once", "--json"))["rows"] == 0
    sent = sorted((record.key, json.loads(record.value)) for record in kafka.consume("pairs"))
    assert sent == [
        (b"o-0", {"correlation_key": "o-0", "who": "i-0"}),
        (b"o-2", {"correlation_key": "o-2", "who": "i-2"}),
    ]

"""Records of a real Kafka become messages or dead letters, each once, whatever is in them and whatever is repeated."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conjoin.runtime.broker import Broker
from conjoin.store import tables as t
from tests.kafka.client import KafkaClient, Record

pytestmark = pytest.mark.spark

MAPPING = """
name: "= type"
key: "= if kafka.key = null then order else kafka.key"
ttl: 1h
variables: "= {amount: amount, trace: kafka.headers.trace, at: kafka.offset}"
only: "= note = null"
"""
PAYLOAD = 20 * 1024 * 1024
MESSAGE, IGNORED = "message", "ignored"


def paid(amount: Any = 1, **more: Any) -> bytes:
    return json.dumps({"type": "paid", "amount": amount, **more}).encode()


# What becomes of each record, and the record. Of both partitions, the second half has another schema than the first.
RECORDS = [
    (MESSAGE, Record(0, b"k-0", paid(40), [("trace", b"t-0"), ("other", b"\xff\xfe")])),
    (MESSAGE, Record(1, b"k-1", paid())),
    (MESSAGE, Record(1, None, paid(order="k-2"))),
    ("unreadable", Record(0, b"a tombstone", None)),
    ("unreadable", Record(0, b"cut off", paid()[:-3])),
    ("unreadable", Record(1, b"no UTF-8", b"\xff\xfe\x00")),
    ("unreadable", Record(1, b"no object", b"[1, 2]")),
    ("missing_name", Record(0, b"a strange type", json.dumps({"type": None}).encode())),
    ("bad_type", Record(1, b"a number as name", json.dumps({"type": 7}).encode())),
    ("bad_type", Record(0, (7).to_bytes(8), paid())),
    ("too_large", Record(0, b"large", paid("x" * PAYLOAD))),
    (IGNORED, Record(1, b"not wanted", paid(note="hello"))),
    (IGNORED, Record(1, b"blank", b"")),
    (MESSAGE, Record(0, b"k-3", paid({"value": "12.50", "currency": "EUR"}, since="2026"), [])),
    (MESSAGE, Record(1, b"k-4", b'{"type": "paid"}', [("trace", b"first"), ("trace", b"last")])),
    (MESSAGE, Record(1, b"\xffbinary", paid("text"), [("trace", b"\xff")])),
]
MORE = [Record(number % 2, b"more", paid(number)) for number in range(20)]


def in_places(records: list[tuple[str, Record]]) -> list[tuple[str, str, Record]]:
    """With the place that Kafka gives each of them."""
    offsets: Counter[int] = Counter()
    placed = []
    for fate, record in records:
        placed.append((fate, f"zoo-{record.partition}:{offsets[record.partition]}", record))
        offsets[record.partition] += 1
    return placed


def messages(store: Broker) -> dict[str, tuple[str, Any]]:
    """By their ids, which are places here."""
    rows = list(store.store.rows(t.MESSAGE, {}, None, 10_000))
    assert max(Counter(row.message_id for row in rows).values()) == 1
    return {row.message_id: (row.correlation_key, json.loads(row.variables)) for row in rows}


def letters(store: Broker) -> dict[str, str]:
    rows = list(store.store.rows(t.DEAD_LETTER, {}, None, 10_000))
    found = {f"{row.part}:{row.position}": row.reason for row in rows}
    assert len(found) == len(rows)
    return found


def test_each_record_is_a_message_a_dead_letter_or_not_wanted_and_nothing_twice(
    kafka: KafkaClient, store: Broker, tmp_path: Path
) -> None:
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    asked = ["--kafka", kafka.servers, "--topic", "zoo", "--mapping", str(tmp_path / "mapping.yaml")]
    asked += ["--data", str(tmp_path / "store"), "--once", "--json"]

    def ingest(*more: str) -> tuple[int, ...]:
        told = json.loads(kafka.conjoin("ingest", *asked, *more))
        parts = tuple(told[name] for name in ("messages", "dead_letters", "ignored", "repeated"))
        assert told["rows"] == sum(parts)
        return parts

    kafka.produce("zoo", [record for _, record in RECORDS])
    assert ingest() == (6, 8, 2, 0)
    placed = in_places(RECORDS)
    assert letters(store) == {place: fate for fate, place, _ in placed if fate not in (MESSAGE, IGNORED)}
    found = messages(store)
    assert set(found) == {place for fate, place, _ in placed if fate == MESSAGE}
    assert [found[place] for fate, place, _ in placed if fate == MESSAGE] == [
        ("k-0", {"amount": 40, "trace": "t-0", "at": 0}),
        ("k-1", {"amount": 1, "trace": None, "at": 0}),
        ("k-2", {"amount": 1, "trace": None, "at": 1}),
        ("k-3", {"amount": {"value": "12.50", "currency": "EUR"}, "trace": None, "at": 6}),
        ("k-4", {"amount": None, "trace": "last", "at": 7}),
        ("\ufffdbinary", {"amount": "text", "trace": "\ufffd", "at": 8}),
    ]
    assert ingest() == (0, 0, 0, 0)
    assert ingest("--checkpoint", str(tmp_path / "another")) == (0, 0, 2, 14)
    kafka.produce("zoo", MORE)
    assert ingest() == (20, 0, 0, 0)
    assert ingest("--checkpoint", str(tmp_path / "yet another")) == (0, 0, 2, 34)
    assert len(messages(store)) == 26
    assert len(letters(store)) == 8

"""Avro's binary form: what other writers wrote is read as it was meant, and what is none is told.

WRITTEN was made by fastavro from `order.avsc`.
"""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conjoin.runtime.ingest.avro import NotAvro, avro_reader

SCHEMA = json.loads(Path(__file__).with_name("order.avsc").read_text())
_REST = (
    "7f0601e23afffffb9b01000000000000e03f0000a0bf020200f69187b18267018a80d59fcfeaa40688c002f4b0971d48"
    "30303030303030302d303030302d303030302d303030302d3030303030303030303030370400ff"
)
WRITTEN = bytes.fromhex(
    f"066f2d31{_REST}0402610204c3bcffffffffff3f0006027800027902027a026e04120002066f2d32{_REST}000000"
)


def test_a_record_of_another_writer_is_read_as_it_was_meant() -> None:
    read = avro_reader(SCHEMA)(WRITTEN)
    following = read.pop("next")
    assert read == {
        "id": "o-1", "count": -64, "total": Decimal("1234.50"), "fee": Decimal("-1.125"), "paid": True,
        "weight": 0.5, "height": -1.25, "state": "PAID", "previous": "NEW",
        "at": "2026-01-31T08:00:00.123000Z", "seen": "1969-12-31T23:59:59.999999Z",
        "local": "2026-01-31T08:00:00.000005", "day": "2026-01-31", "hour": "08:30:00.250000",
        "uid": "00000000-0000-0000-0000-000000000007", "raw": b"\x00\xff",
        "lines": [{"sku": "a", "n": 1}, {"sku": "ü", "n": -(2**40)}], "tags": {"x": None, "y": "z", "n": 9},
    }  # fmt: skip
    assert following == {**read, "id": "o-2", "lines": [], "tags": {}, "next": None}
    assert str(read["total"]) == "1234.50"


@pytest.mark.parametrize(
    ("schema", "raw", "value"),
    [
        ("long", "00", 0),
        ("long", "01", -1),
        ("long", "7f", -64),
        ("long", "8001", 64),
        ("long", "ffffffffffffffffff01", -(2**63)),
        ("string", "06666f6f", "foo"),
        ({"type": "array", "items": "long"}, "04063600", [3, 27]),
        # Blocks of a negative count have their length in bytes behind it.
        ({"type": "array", "items": "long"}, "03040636020600", [3, 27, 3]),
        ({"type": "map", "values": "boolean"}, "0202610100", {"a": True}),
        (["null", "string"], "020261", "a"),
        (["null", "string"], "00", None),
        ({"type": "record", "name": "a.b.C", "fields": [{"name": "x", "type": ["null", "C"]}]}, "0200",
         {"x": {"x": None}}),
        ({"type": {"type": "string"}}, "0261", "a"),
        ({"type": "fixed", "name": "U", "size": 16, "logicalType": "uuid"}, "00" * 15 + "07",
         "00000000-0000-0000-0000-000000000007"),
    ],
)  # fmt: skip
def test_values_are_those_of_the_specification(schema: Any, raw: str, value: Any) -> None:
    assert avro_reader(schema)(bytes.fromhex(raw)) == value


def test_a_record_that_is_cut_short_or_goes_on_is_none_wherever_it_is_cut() -> None:
    read = avro_reader(SCHEMA)
    for end in range(len(WRITTEN)):
        with pytest.raises(NotAvro):
            read(WRITTEN[:end])
    with pytest.raises(NotAvro, match="1 bytes are left over"):
        read(WRITTEN + b"\0")


@pytest.mark.parametrize(
    ("schema", "raw", "why"),
    [
        ("string", "04ffff", "a value cannot be"),
        ("string", "03", "ends too early"),
        ("boolean", "02", "neither true nor false"),
        ("long", "80" * 11, "too long"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, "02", "chooses 1 of 1"),
        (["null"], "01", "chooses -1 of 1"),
        ({"type": "int", "logicalType": "date"}, "feffffff0f", "a value cannot be"),
        ({"type": "int", "logicalType": "time-millis"}, "01", "not within a day"),
        ({"type": "long", "logicalType": "timestamp-micros"}, "feffffffffffffffff01", "a value cannot be"),
        # A list of nothing costs nothing to write, whatever it claims.
        ({"type": "array", "items": "null"}, "feffffffffffffffff0100", "more items than it has bytes"),
        ({"type": "array", "items": {"type": "array", "items": "null"}}, "14" + "a00f00" * 10 + "00", "more items"),
    ],
)
def test_what_is_none_is_told(schema: Any, raw: str, why: str) -> None:
    with pytest.raises(NotAvro, match=why):
        avro_reader(schema)(bytes.fromhex(raw))


def test_a_record_that_is_nested_without_end_is_none_and_ends_no_process() -> None:
    linked = {"type": "record", "name": "L", "fields": [{"name": "next", "type": ["null", "L"]}]}
    assert avro_reader(linked)(b"\x02\x00") == {"next": {"next": None}}
    with pytest.raises(NotAvro, match="nested too deeply"):
        avro_reader(linked)(b"\x02" * 1_000_000)


@pytest.mark.parametrize(
    "schema",
    ["strnig", {"type": "record", "name": "R"}, {"name": "x"}, 7, {"type": "array"}, {"type": "fixed", "name": "f"},
     {"type": "record", "name": "R", "fields": [{"name": "a", "type": "Unknown"}]}],
)  # fmt: skip
def test_a_schema_that_is_none_is_told_before_anything_is_read(schema: Any) -> None:
    with pytest.raises(NotAvro, match="schema"):
        avro_reader(schema)

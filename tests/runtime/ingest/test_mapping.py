"""A mapping: which part of a row is which part of a message, and everything that is wrong with one told at once."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.ingest.dead_letters import REASONS, DeadLetter
from conjoin.runtime.ingest.mapping import load_mapping, read_mapping
from conjoin.runtime.ingest.requests import read_request, written_request
from conjoin.runtime.ingest.rows import RowReader, SourcePosition

AT = SourcePosition("orders", "a.jsonl", 7)
PAID = b'{"type": "paid", "order": {"id": 17}, "eventId": "e-1", "at": "2026-01-01T00:00:00Z", "amount": 9.50}'


def read(raw: bytes | dict[str, Any], said: dict[str, Any] | None = None, largest: int = 1_000) -> Any:
    reader = RowReader(largest=largest) if said is None else RowReader(read_mapping(said), largest)
    return reader.read(raw if isinstance(raw, bytes) else json_text(raw).encode(), AT, 0)


def test_row_with_the_fields_of_a_message_needs_no_mapping() -> None:
    for key, id_, ttl in (("key", "id", "ttl"), ("correlationKey", "messageId", "timeToLive")):
        assert read({"name": "Paid", key: "o-1", id_: "m", ttl: "5m", "variables": {"a": 1}}) == NewMessage(
            "Paid", "o-1", {"a": 1}, 300_000, "m"
        )


def test_place_is_the_id_of_a_row_that_has_none() -> None:
    assert read({"name": "Paid"}).message_id == "a.jsonl:7"


def test_expressions_are_asked_of_the_row_and_texts_are_meant_as_written() -> None:
    said = {
        "name": "= type", "key": "= order.id", "id": "= eventId", "ttl": "PT1H", "tenant": "acme",
        "business_id": '= "b-" + string(order.id)', "published_at": "= at", "variables": "= {sum: amount * 2}",
    }  # fmt: skip
    assert read(PAID, said) == NewMessage(
        "paid", "17", {"sum": Decimal("19.00")}, 3_600_000, "e-1", "b-17", "acme", False, 1_767_225_600_000_000
    )


def test_whole_row_is_carried_unless_it_is_said_what_else() -> None:
    assert read(PAID, {"name": "Paid"}).variables["order"] == {"id": 17}
    assert read(PAID, {"name": "Paid", "variables": {"fixed": True}}).variables == {"fixed": True}


def test_rows_that_are_not_wanted_and_blank_ones_become_nothing() -> None:
    assert read(PAID, {"name": "Paid", "only": '= type = "refunded"'}) is None
    assert read(PAID, {"name": "Paid", "only": "= missing"}) is None
    assert read(PAID, {"name": "Paid", "only": '= type = "paid"'}) is not None
    assert read(b"  \t") is None


@pytest.mark.parametrize(
    ("row", "said", "reason"),
    [
        (b"{broken", None, "unreadable"),
        (b"[1]", None, "unreadable"),
        (b'{"name": "\xff"}', None, "unreadable"),
        (b'{"a": ' * 5_000, None, "too_large"),
        ({}, None, "missing_name"),
        ({"name": " "}, None, "missing_name"),
        ({"name": 5}, None, "bad_type"),
        ({"name": "n", "key": True}, None, "bad_type"),
        ({"name": "n", "key": 1.5}, None, "bad_type"),
        ({"name": "n", "key": "k" * 40_000}, None, "bad_type"),
        ({"name": "n", "id": {}}, None, "bad_type"),
        ({"name": "n", "key": "a\0b"}, None, "bad_type"),
        ({"name": "n", "variables": [1]}, None, "bad_variables"),
        ({"name": "n", "variables": "{"}, None, "bad_variables"),
        ({"name": "n", "ttl": "soon"}, None, "bad_ttl"),
        ({"name": "n", "ttl": "P1M"}, None, "bad_ttl"),
        ({"name": "n", "published_at": "noon"}, None, "bad_time"),
        ({"name": "n", "published_at": True}, None, "bad_time"),
        (PAID, {"name": "= nothing"}, "missing_name"),
    ],
)
def test_row_that_is_no_message_is_a_dead_letter_with_its_reason(row: Any, said: Any, reason: str) -> None:
    letter = read(row, said, largest=100 if reason == "too_large" else 100_000)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.source, letter.part, letter.position) == (reason, *AT)
    assert reason in REASONS
    assert letter.text
    raw = row if isinstance(row, bytes) else json_text(row).encode()
    assert letter.raw == raw[: len(letter.raw)] != b""


def test_what_a_row_has_become_survives_the_way_to_another_worker() -> None:
    for raw in (PAID, b'{"name": "n", "key": 1.5}', b"\xff\xfe{"):
        became = read(raw, {"name": "= type", "key": "= order.id", "variables": "= {a: amount}"})
        assert read_request(written_request(became)) == became


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({}, "name: without it no row is a message"),
        ({"name": "= type ="}, "name: "),
        ({"name": 5}, "name: 5 is not a text"),
        ({"name": "n", "ky": "= a"}, "ky: there is no such field; did you mean key?"),
        ({"name": "n", "ttl": "soon"}, "ttl: 'soon' is no time"),
        ({"name": "n", "only": "paid"}, "only: not an expression"),
        ({"name": "n", "variables": "text"}, "variables: neither an object nor an expression"),
    ],
)
def test_mapping_that_makes_no_sense_says_so_before_any_row_is_read(said: dict[str, Any], problem: str) -> None:
    with pytest.raises(InputError, match=problem[:30]):
        read_mapping(said)


def test_all_problems_of_a_mapping_are_told_at_once_with_the_file(tmp_path: Path) -> None:
    file = tmp_path / "m.yaml"
    file.write_text("ky: '= a'\nttl: soon\n")
    with pytest.raises(InputError) as told:
        load_mapping(file)
    assert [problem.startswith(f"{file}: ") for problem in told.value.problems] == [True, True]
    for text in ("- a\n", "{", ""):
        file.write_text(text)
        with pytest.raises(InputError, match=r"m\.yaml"):
            load_mapping(file)
    with pytest.raises(InputError, match="No such file"):
        load_mapping(tmp_path / "none.yaml")

"""Rows become messages as their channel says, or dead letters with a reason, from lines of JSON and from CSV."""

import io
from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import Correct, OperationRefused
from conjoin.runtime.inbox.receiving import CSV, JSON_LINES, ChannelRows, Row, Taken, read_rows
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.store import tables as t
from tests.runtime.inbox.bench import CHANNEL, Bench, preset
from tests.runtime.inbox.conftest import Make

MAPPING = {"name": "= type", "key": "= order.id", "id": "= event", "variables": "= {n: n}", "only": "= type != null"}
ID = "X-CORRELATE-ID"


def taken(raw: bytes, headers: tuple[tuple[str, str], ...] = (), **channel: Any) -> Taken:
    rows = ChannelRows(Channel(CHANNEL, **channel), preset(payload_max=200))
    return rows.take(Row("orders.jsonl", 7, raw, headers), 1_000)


def arrival(raw: bytes, headers: tuple[tuple[str, str], ...] = (), **channel: Any) -> Arrival:
    found = taken(raw, headers, **channel)
    assert isinstance(found, Arrival), found
    return found


def test_without_a_mapping_a_row_has_the_fields_of_a_message() -> None:
    its = arrival(b'{"messageName": "paid", "key": 7, "id": "m-1", "tenant": "acme", "variables": {"n": 1.50}}')
    assert (its.hint, its.payload, its.tenant_id) == (Hint("paid", "7"), b'{"n":1.50}', "acme")
    assert its.headers == ((ID, "m-1"),)


def test_a_payload_of_its_own_stands_beside_the_variables() -> None:
    its = arrival(b'{"name": "paid", "variables": {"n": 1}, "payload": "<paid/>", "headers": {"a": "b"}}')
    assert (its.payload, its.hint.variables, its.headers) == (b"<paid/>", {"n": 1}, (("a", "b"),))


def test_a_mapping_makes_the_hint_and_the_row_is_the_payload() -> None:
    raw = b'{"type": "paid", "order": {"id": 7}, "event": "e-1", "n": 1}'
    its = arrival(raw, mapping=MAPPING)
    assert (its.hint, its.payload, its.headers) == (Hint("paid", "7", {"n": 1}), raw, ((ID, "e-1"),))


def test_headers_of_the_source_stand_over_those_of_the_mapping_and_are_seen_by_it() -> None:
    mapping = {"name": "= headers.kind", "id": "from the mapping"}
    its = arrival(b"{}", (("kind", "paid"), (ID, "from the source")), mapping=mapping)
    assert (its.hint.name, dict(its.headers)[ID]) == ("paid", "from the source")


def test_of_another_encoding_than_json_a_mapping_sees_the_headers_only() -> None:
    its = arrival(b"\xff", (("kind", "paid"),), mapping={"name": "= headers.kind"}, encoding="avro")
    assert (its.hint.name, its.payload) == ("paid", b"\xff")


def test_instants_may_be_milliseconds_as_kafka_writes_them() -> None:
    its = arrival(b'{"name": "paid", "timestamp": 1500, "expiration": "2030-01-01T00:00:00Z", "grace": 10}')
    said = {name.removeprefix("X-CORRELATE-"): value for name, value in its.headers}
    assert said == {"Timestamp": "1970-01-01T00:00:01.5Z", "Expiration": "2030-01-01T00:00:00Z", "TTL": "10"}


@pytest.mark.parametrize(
    ("raw", "mapping", "reason", "text"),
    [
        (b'{"name": ', {}, "unreadable", "is not JSON"),
        (b"[1]", {}, "unreadable", "is not an object"),
        (b"[" * 150, {}, "unreadable", "is not JSON"),
        (b'{"a": "' + b"x" * 200 + b'"}', {}, "too_large", "has 209 bytes"),
        (b'{"nam": "paid"}', {}, "bad_type", "nam: there is no such field; did you mean name?"),
        (b'{"key": "a", "correlationKey": "b"}', {}, "bad_type", "correlationKey: correlation_key is given twice"),
        (b'{"name": "paid", "key": ["a"]}', {}, "bad_type", "correlation_key: ['a'] is not a text"),
        (b'{"name": "paid", "id": 1.5}', {}, "bad_type", "id: Decimal('1.5') is not a text"),
        (b'{"name": "paid", "headers": {"a": 1}}', {}, "bad_type", "headers: is not an object of texts"),
        (b'{"type": "paid", "order": {"id": true}}', MAPPING, "bad_type", "correlation_key: True is not a text"),
        (b"paid", MAPPING, "unreadable", "is not JSON"),
    ],
)
def test_what_cannot_be_read_says_why(raw: bytes, mapping: dict[str, Any], reason: str, text: str) -> None:
    found = taken(raw, mapping=mapping)
    assert isinstance(found, DeadLetter)
    assert (found.reason, found.part, found.position, found.raw) == (reason, "orders.jsonl", 7, raw)
    assert text in found.text


def test_a_dead_letter_keeps_the_row_where_the_payload_is_only_a_part_of_it(single: Make) -> None:
    bench = single()
    row = b'{"key": "o-1", "variables": {"n": 1}}'
    counts = bench.inbox.receive_rows(CHANNEL, [Row("orders.jsonl", 1, row), Row("orders.jsonl", 2, b"{")])
    assert (counts.received, counts.dead_lettered) == (2, 2)
    letters = bench.broker.store.rows(t.DEAD_LETTER, {}, None, 9)
    assert [(it.reason, bytes(it.raw)) for it in letters] == [("missing_name", row), ("unreadable", b"{")]


def csv_rows(content: bytes) -> list[Row]:
    return list(read_rows(io.BytesIO(content), "orders.csv", CSV))


def test_csv_is_objects_of_texts_numbered_from_one() -> None:
    rows = csv_rows(b'\xef\xbb\xbfname,key,variables\r\npaid,o-1,"{""n"": 1}"\r\n\r\npaid,,"two\nlines"\r\n')
    assert [(row.position, row.raw) for row in rows] == [
        (1, b'{"name":"paid","key":"o-1","variables":"{\\"n\\": 1}"}'),
        (3, b'{"name":"paid","key":null,"variables":"two\\nlines"}'),
    ]
    its = arrival(rows[0].raw)
    assert (its.hint, its.payload) == (Hint("paid", "o-1"), b'{"n":1}')


def test_a_row_of_csv_that_cannot_be_read_keeps_its_bytes_and_stops_nobody() -> None:
    rows = csv_rows(b'name,key\npaid\n"pa"id,o-1\npaid,\xff\npaid,o-2\n"paid,o-3\n')
    assert [(row.raw, bool(row.problem)) for row in rows] == [
        *[(b"paid", True), (b'"pa"id,o-1', True), (b"paid,\xff", True)],
        *[(b'{"name":"paid","key":"o-2"}', False), (b'"paid,o-3', True)],
    ]


def test_a_header_that_names_a_column_twice_is_told() -> None:
    with pytest.raises(InputError, match=r"orders\.csv: the header names 'key' twice"):
        csv_rows(b"key,name,key\na,b,c\n")
    assert csv_rows(b"") == []


def test_lines_are_numbered_as_they_stand_in_the_file() -> None:
    rows = read_rows(io.BytesIO(b"{}\n\n \n{"), "orders.jsonl", JSON_LINES)
    assert [(row.position, row.raw) for row in rows] == [(1, b"{}\n"), (4, b"{")]


@pytest.fixture
def mapped(make: Make) -> Bench:
    """A channel with a mapping, and a message whose payload names the wrong order."""
    bench = make()
    bench.configure(bench.settings, {CHANNEL: Channel(CHANNEL, mapping=MAPPING)})
    row = b'{"type": "paid", "order": {"id": "wrong"}, "event": "m-1", "n": 1}'
    counts = bench.inbox.receive_rows(CHANNEL, [Row("orders.jsonl", 1, row), Row("orders.jsonl", 2, b'{"n": 2}')])
    assert (counts.persisted, counts.ignored) == (1, 1)
    bench.run()
    return bench


def test_a_corrected_payload_is_mapped_again_by_its_channel(mapped: Bench) -> None:
    for number in range(4):
        mapped.wait(f"o-{number}")
        payload = b'{"type": "paid", "order": {"id": "o-%d"}, "event": "m-1", "n": 7}' % number
        assert mapped.operate("m-1", Correct(payload=payload)) == ""
        row = mapped.row("m-1")
        assert (row.correlation_key, row.state) == (f"o-{number}", "waiting")
    assert mapped.run(after_s=6).correlated == 1
    [_, *corrections, attempt] = mapped.history("m-1")
    assert ([line.kind for line in corrections], attempt.verdict) == (["correct"] * 4, "correlated")


def test_what_a_person_says_stands_over_the_mapping(mapped: Bench) -> None:
    mapped.wait("o-1")
    payload = b'{"type": "sent", "order": {"id": "o-1"}, "n": 7}'
    mapped.inbox.correct(mapped.row("m-1").key, payload, {"name": "paid"}, "eve")
    assert mapped.run(after_s=6).correlated == 1


@pytest.mark.parametrize("payload", [b"{", b'{"type": "paid", "order": {"id": []}}'])
def test_a_corrected_payload_that_cannot_be_mapped_is_refused(mapped: Bench, payload: bytes) -> None:
    before = mapped.row("m-1")
    answer = mapped.inbox.operate(before.key, Correct(payload=payload), "eve")
    assert isinstance(answer, OperationRefused)
    assert (answer.code, mapped.row("m-1")) == ("invalid", before)


def test_without_a_mapping_a_corrected_payload_is_for_the_same_receiver(single: Make) -> None:
    bench = single()
    bench.wait("o-1")
    bench.send("", "m-1", hint=Hint("paid", "o-1", {"n": 1}))
    bench.operate("m-1", Correct(payload=b'{"n": 2}'))
    bench.run()
    [message] = bench.broker.store.rows(t.MESSAGE, {}, None, 9)
    assert (bench.row("m-1").state, message.variables) == ("done", '{"n":2}')

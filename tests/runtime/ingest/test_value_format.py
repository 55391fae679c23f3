"""Values that are not JSON: Avro by a file or a registry. A wrong record is a dead letter, a registry away none."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conjoin.errors import InputError, RegistryFailed
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import json_text, read_json
from conjoin.runtime.ingest import schema_registry
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.mapping import for_tasks, read_mapping
from conjoin.runtime.ingest.rows import RowReader, SourcePosition
from tests.runtime.ingest.registry import PASSWORD, USER, Registry, running_registry

AT = SourcePosition("orders", "orders-0", 7)
RECORD = json_text({"topic": "orders", "partition": 0, "offset": 7, "key": "o-1", "headers": {"trace": "t"}})
PAID = {
    "type": "record",
    "name": "Paid",
    "fields": [{"name": "order", "type": "string"}, {"name": "sum", "type": "long"}],
}
MAPPING = {"name": "paid", "key": "= order", "variables": "= {sum: sum, at: kafka.offset}"}
VALUE = b"\x06o-1\x54"
"""Of PAID: the order o-1, the sum 42."""


def framed(number: int, value: bytes = VALUE) -> bytes:
    return b"\0" + number.to_bytes(4) + value


@pytest.fixture
def registry() -> Iterator[Registry]:
    with running_registry() as its:
        yield its


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "paid.avsc"
    file.write_text(json.dumps(PAID))
    return file


def reader_of(value: dict[str, Any], **more: Any) -> RowReader:
    """As a task has it: what it is told has gone through JSON, and names no file and no variable any more."""
    return RowReader(read_mapping(read_json(json_text(for_tasks({**MAPPING, **more, "value": value})))))


def read(reader: RowReader, raw: bytes | None) -> Any:
    return reader.read(raw, AT, 0, RECORD)


def test_a_record_is_read_by_the_schema_of_a_file(file: Path) -> None:
    reader = reader_of({"format": "avro", "schema": str(file)})
    file.unlink()
    assert read(reader, framed(3)) == NewMessage("paid", "o-1", {"sum": 42, "at": 7}, message_id="orders-0:7")
    bare = {"format": "avro", "framed": False}
    file.write_text(json.dumps({"type": "record", "name": "N", "fields": [{"name": "order", "type": "long"}]}))
    # Ten is a line feed, as a file of JSON lines has it between its rows.
    assert read(reader_of({**bare, "schema": str(file)}), b"\n").key == "5"


def test_each_record_is_read_by_the_schema_that_its_number_names(file: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.avsc"
    other.write_text(json.dumps({**PAID, "fields": PAID["fields"][::-1]}))  # type: ignore[index]
    reader = reader_of({"format": "avro", "schemas": {3: str(file), 4: str(other)}})
    assert read(reader, framed(3)).key == "o-1"
    assert read(reader, framed(4, b"\x54\x06o-1")).variables["sum"] == 42
    letter = read(reader, framed(5))
    assert (letter.reason, letter.text) == ("unreadable", "is not Avro: there is no schema with the number 5")


def test_a_registry_is_asked_once_for_each_schema_and_those_it_refers_to(registry: Registry) -> None:
    line = {"type": "record", "name": "shop.Line", "fields": [{"name": "sku", "type": "string"}]}
    order = {"type": "record", "name": "shop.Order", "fields": [{"name": "line", "type": "Line"}]}
    registry.add(901, PAID)
    registry.add(902, order, references=[{"name": "Line", "subject": "shop/line", "version": 2}])
    registry.answers["/subjects/shop%2Fline/versions/2"] = {"schema": json.dumps(line)}
    value = {"format": "avro", "registry": f"{registry.url}/"}
    assert [read(reader_of(value), framed(901)).key for _ in range(3)] == ["o-1"] * 3
    found = read(reader_of(value, key="= line.sku"), framed(902, b"\x04s7"))
    assert found.key == "s7"
    assert registry.asked == ["/schemas/ids/901", "/schemas/ids/902", "/subjects/shop%2Fline/versions/2"]


def test_a_registry_knows_who_asks(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    registry.is_closed_to_others = True
    registry.add(911, PAID)
    monkeypatch.setenv("REGISTRY_PASSWORD", PASSWORD)
    value = {"format": "avro", "registry": registry.url, "user": USER, "password": "$REGISTRY_PASSWORD"}
    mapping = read_mapping({**MAPPING, "value": value})
    monkeypatch.delenv("REGISTRY_PASSWORD")
    assert PASSWORD not in repr(mapping)
    assert read(RowReader(mapping), framed(911)).key == "o-1"
    with pytest.raises(RegistryFailed, match="answers 401"):
        read(reader_of({**value, "password": "another"}), framed(911))


def test_a_number_that_a_registry_does_not_know_is_a_dead_letter_and_asked_for_once(registry: Registry) -> None:
    reader = reader_of({"format": "avro", "registry": registry.url})
    letters = [read(reader, framed(404)) for _ in range(3)]
    assert {letter.text for letter in letters} == {
        "is not Avro: the schema registry knows no schema with the number 404"
    }
    assert letters[0].raw == framed(404)
    assert registry.asked == ["/schemas/ids/404"]


def test_a_schema_that_is_no_avro_is_asked_for_once(registry: Registry) -> None:
    registry.add(921, {"type": "object"}, schemaType="JSON")
    registry.add(922, {"type": "nothing like it"})
    registry.answers["/schemas/ids/923"] = {"schema": "{"}
    registry.add(924, PAID, references=[{"name": "a", "subject": "a", "version": 1}])
    registry.answers["/subjects/a/versions/1"] = {"schema": "{}", "schemaType": "PROTOBUF"}
    for number, why in (
        (921, "is not Avro: its schema is JSON, and not Avro"),
        (922, "is not Avro: "),
        (923, "is not Avro: its schema is not JSON"),
        (924, "is not Avro: its schema is PROTOBUF, and not Avro"),
    ):
        registry.asked.clear()
        for _ in range(2):
            # Of one task, and of the next.
            reader = reader_of({"format": "avro", "registry": registry.url})
            assert all(read(reader, framed(number)).text.startswith(why) for _ in range(2))
        assert len(registry.asked) == (2 if number == 924 else 1)


def test_a_registry_that_is_away_for_a_moment_is_asked_again_and_else_no_record_is_blamed(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema_registry, "_TRIES_AFTER_S", (0.0, 0.0))
    registry.add(921, PAID)
    reader = reader_of({"format": "avro", "registry": registry.url})
    registry.failing = [503, 500]
    assert read(reader, framed(921)).key == "o-1"
    registry.add(922, PAID)
    registry.failing = [503] * 3
    with pytest.raises(RegistryFailed, match="answers 503"):
        read(reader, framed(922))
    nobody = reader_of({"format": "avro", "registry": "http://127.0.0.1:1"})
    with pytest.raises(RegistryFailed, match="cannot be read"):
        read(nobody, framed(922))


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"order": "o-1"}', "it has no frame of a schema registry"),
        (b"\0\0", "it has no frame of a schema registry"),
        (framed(3, VALUE[:-1]), "it ends too early"),
        (framed(3, VALUE + b"\0"), "bytes are left over"),
        (framed(3, b"\x06o-\xff\x54"), "a value cannot be"),
    ],
)
def test_what_is_no_avro_is_a_dead_letter_with_its_bytes(file: Path, raw: bytes, why: str) -> None:
    letter = read(reader_of({"format": "avro", "schema": str(file)}), raw)
    assert isinstance(letter, DeadLetter)
    assert (letter.reason, letter.raw) == ("unreadable", raw)
    assert why in letter.text


def test_json_with_the_frame_of_a_registry_is_json() -> None:
    reader = RowReader(read_mapping(MAPPING))
    assert read(reader, framed(3, b'{"order": "o-1", "sum": 1.50}')) == read(reader, b'{"order": "o-1", "sum": 1.50}')
    letter = reader.read(framed(3, b'{"order": "o-1"}'), AT, 0)
    assert isinstance(letter, DeadLetter), "only Kafka has frames"


def test_a_tombstone_is_what_the_mapping_says() -> None:
    said = {"name": '= if kafka.tombstone then "deleted" else "paid"', "key": "= kafka.key"}
    letter = read(RowReader(read_mapping(said)), None)
    assert (letter.reason, letter.text, letter.raw) == ("unreadable", "has no value (a tombstone)", b"")
    assert read(RowReader(read_mapping({**said, "tombstones": "skip"})), None) is None
    takes = RowReader(read_mapping({**said, "tombstones": "message", "variables": "= {t: kafka.headers.trace}"}))
    assert read(takes, None) == NewMessage("deleted", "o-1", {"t": "t"}, message_id="orders-0:7")
    assert read(takes, b"{}").name == "paid"
    wanted = RowReader(read_mapping({**said, "tombstones": "message", "only": "= not(kafka.tombstone)"}))
    assert read(wanted, None) is None
    assert read(wanted, b"{}").name == "paid"
    assert "tombstone" not in read(RowReader(read_mapping({"name": "x"})), b"{}").variables["kafka"]


@pytest.mark.parametrize(
    ("said", "problems"),
    [
        ({"value": {"format": "xml", "schema": "no.avsc"}}, ["value.format: 'xml' is none of avro"]),
        ({"value": "avro"}, ["value: a text is not a table of settings"]),
        ({"value": {"format": "avro"}}, ["value.format: needs one of schema (a file), schemas (files by number) and "
                                         "registry (a URL)"]),
        ({"value": {"schema": "no.avsc"}}, ["value: no.avsc: No such file or directory"]),
        ({"value": {"schema": "bad.avsc"}}, [
            "value: bad.avsc: is not JSON: Expecting value: line 1 column 1 (char 0)"]),
        ({"value": {"schema": "wrong.avsc"}}, ["value: wrong.avsc: the schema names the type 'strnig', which is not "
                                               "defined"]),
        ({"value": {"registry": "registry:8081", "framed": False}}, [
            "value.registry: is not a URL such as http://registry:8081",
            "value.framed: is false, and only a frame says which schema has written a record: give schema, a file"]),
        ({"value": {"registry": "http://r", "password": "$NOBODY_KNOWS"}}, [
            "value.password: there is no variable NOBODY_KNOWS in the environment"]),
        ({"value": {"schemas": ["a.avsc"]}}, [
            "value.schemas: is not a table of files by the numbers of their schemas"]),
        ({"tombstones": "bury"}, ["tombstones: 'bury' is none of dead_letter, skip, message"]),
        ({"tombstone": "skip"}, ["tombstone: there is no such field; did you mean tombstones?"]),
    ],
)  # fmt: skip
def test_everything_that_is_wrong_is_told_before_a_row_is_read(
    said: dict[str, Any], problems: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("bad.avsc").write_text("no json")
    Path("wrong.avsc").write_text('"strnig"')
    with pytest.raises(InputError) as told:
        read_mapping({**MAPPING, **said})
    assert [problem.split("; needs")[0] for problem in told.value.problems][: len(problems)] == problems

"""Rows with values that no store holds are dead letters with a reason, and no reader ever raises."""

import pytest

from conjoin.errors import InputError
from conjoin.runtime.client_api.messages import NewMessage, unusable
from conjoin.runtime.inbox.mapping import read_hint
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.ingest.mapping import SPELLINGS
from conjoin.runtime.ingest.rows import RowReader, SourcePosition
from tests.gateway.robust.nasty_values import LITERALS

PLACE = SourcePosition("file", "part", 7)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ('{"name":"x","ttl":1e1000000}', "unreadable"),
        ('{"name":"x","id":1e100000000}', "unreadable"),
        ('{"name":"x","variables":{"n":1e99999999999999999999999}}', "unreadable"),
        ('{"name":"x","variables":"{\\"n\\":1e99999999999999999999999}"}', "bad_variables"),
        ('{"name":"x","ttl":1e5000}', "bad_ttl"),
        ('{"name":"x","ttl":"99999999999999999999d"}', "bad_ttl"),
        ('{"name":"x","ttl":"P999999999Y"}', "bad_ttl"),
        ('{"name":"x","published_at":1e30}', "bad_time"),
        ('{"name":"x","key":"\\u0000"}', "bad_type"),
        ('{"name":"x","tenant":"\\u0000"}', "bad_type"),
    ],
)
def test_a_row_that_cannot_be_stored_is_a_dead_letter(row: str, reason: str) -> None:
    letter = RowReader().read(row.encode(), PLACE, 0)
    assert isinstance(letter, DeadLetter)
    assert letter.reason == reason


@pytest.mark.parametrize("field", dict.fromkeys(SPELLINGS.values()))
def test_every_nasty_value_in_every_field_is_a_message_or_a_dead_letter(field: str) -> None:
    read = [RowReader().read(f'{{"name":"x","{field}":{value}}}'.encode(), PLACE, 0) for value in LITERALS]
    assert {type(it) for it in read} == {NewMessage, DeadLetter}
    assert [it for it in read if isinstance(it, NewMessage) and unusable(it)] == []


def test_whole_numbers_are_labels_as_they_are_written_out() -> None:
    read = RowReader().read(b'{"name":"x","key":1e3,"id":12.0,"ttl":1.5e3}', PLACE, 0)
    assert isinstance(read, NewMessage)
    assert (read.key, read.message_id, read.ttl_ms) == ("1000", "12", 1_500)


def test_a_hint_tells_a_number_without_end_as_a_problem() -> None:
    assert read_hint({"key": 10**4_000}).correlation_key == str(10**4_000)
    with pytest.raises(InputError, match="variables"):
        read_hint({"variables": '{"n":1e99999999999999999999999}'})

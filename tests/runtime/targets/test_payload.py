"""Which variables a target is given, and which payloads it never sees."""

from decimal import Decimal

import pytest

from conjoin.kernel.inbox.message import DECODE_ERROR, MAPPING_ERROR
from conjoin.kernel.inbox.outcomes import Failed
from conjoin.runtime.targets.calls import variables_of
from tests.runtime.targets.messages import message


def test_variables_of_the_hint_count_before_the_payload() -> None:
    assert variables_of(message(b"not read", variables={"a": 1})) == {"a": 1}


def test_a_message_with_neither_has_no_variables() -> None:
    assert variables_of(message()) == {}


@pytest.mark.parametrize(
    ("payload", "encoding", "variables"),
    [
        (b'{"amount": 1.10}', "json", {"amount": Decimal("1.10")}),
        (b'\xef\xbb\xbf{"a": 1}', "application/json", {"a": 1}),
        (b"[1, 2]", "json", {"payload": [1, 2]}),
        (b"null", "json", {"payload": None}),
        ("zwölf".encode(), "text", {"payload": "zwölf"}),
        (b"<a/>", "xml", {"payload": "<a/>"}),
        (b"\x00\xff", "avro", {"payload": "AP8="}),
    ],
)
def test_a_payload_becomes_variables_by_its_encoding(payload: bytes, encoding: str, variables: object) -> None:
    assert variables_of(message(payload, encoding)) == variables


@pytest.mark.parametrize(
    ("payload", "encoding"),
    [(b'{"a": ', "json"), (b'{"a": NaN}', "json"), (b'"\xff"', "json"), (b"[" * 100_000, "json"), (b"\xff", "text")],
)
def test_a_payload_that_is_not_what_it_says_is_a_decode_error_and_is_held(payload: bytes, encoding: str) -> None:
    failed = variables_of(message(payload, encoding))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == (DECODE_ERROR, False)
    assert failed.text.startswith(f"the payload is not {encoding}\nCaused by: ")


def test_variables_that_are_no_json_are_a_mapping_error() -> None:
    failed = variables_of(message(variables={"a": object()}))
    assert isinstance(failed, Failed)
    assert (failed.kind, failed.retryable) == (MAPPING_ERROR, False)

"""What messages say of themselves in `X-CORRELATE-*` headers."""

import pytest

from conjoin.kernel.inbox.headers import Headers, MessageHeaders, RejectedRow, header_texts, read_headers
from conjoin.kernel.inbox.message import MessageType

ALL_OF_THEM = {
    "X-CORRELATE-ID": "m-7",
    "X-CORRELATE-Timestamp": "1970-01-01T00:01:00Z",
    "X-CORRELATE-TTL": "PT10S",
    "X-CORRELATE-Expiration": "1970-01-01T01:00:00+00:30",
    "X-CORRELATE-Payload-Encoding": "jackson",
    "X-CORRELATE-PayloadType-Namespace": "acme.orders",
    "X-CORRELATE-PayloadType-Name": "Paid",
    "X-CORRELATE-PayloadType-Revision": "2",
}
READ = MessageHeaders("m-7", 60_000_000, 10_000, 1_800_000_000, "json", MessageType("acme.orders", "Paid", "2"))


def one(name: str, value: str | bytes) -> MessageHeaders | RejectedRow:
    return read_headers([(f"X-CORRELATE-{name}", value)])


@pytest.mark.parametrize("change", [str, str.lower, str.upper])
def test_all_headers_are_read_whatever_the_case_of_their_names(change: type[str]) -> None:
    assert read_headers([(change(name), value) for name, value in ALL_OF_THEM.items()]) == READ


def test_headers_of_bytes_are_read_like_those_of_text() -> None:
    assert read_headers([(name, value.encode()) for name, value in ALL_OF_THEM.items()]) == READ


def test_headers_of_others_and_empty_ones_say_nothing() -> None:
    headers: Headers = [
        ("traceparent", b"\xff\xfe"),
        ("X-CORRELATE-ID", " "),
        ("X-CORRELATE-TTL", None),
        ("X-CORRELATE-Hm", "?"),
    ]
    assert read_headers(headers) == MessageHeaders()


def test_of_a_header_given_twice_the_last_one_counts() -> None:
    assert read_headers([("x-correlate-id", "a"), ("X-CORRELATE-ID", b"b")]) == MessageHeaders(message_id="b")


@pytest.mark.parametrize(
    ("name", "type_"),
    [
        ("acme.orders.Paid", MessageType("acme.orders", "Paid")),
        ("Paid", MessageType("", "Paid")),
    ],
)
def test_a_class_name_is_a_namespace_and_a_name(name: str, type_: MessageType) -> None:
    read = one("PayloadType-FQCN", name)
    assert isinstance(read, MessageHeaders)
    assert read.type == type_
    assert type_.full_name == name


def test_a_class_name_counts_before_namespace_and_name_and_keeps_the_revision() -> None:
    read = read_headers([*ALL_OF_THEM.items(), ("X-CORRELATE-PayloadType-FQCN", "other.Type")])
    assert read == READ._replace(type=MessageType("other", "Type", "2"))


@pytest.mark.parametrize(
    ("name", "value", "reason"),
    [
        ("Timestamp", "yesterday", "bad_time"),
        ("Timestamp", "2026-02-30T00:00:00Z", "bad_time"),
        ("Expiration", "PT10S", "bad_time"),
        ("TTL", "soon", "bad_ttl"),
        ("TTL", "-PT1S", "bad_ttl"),
        ("TTL", "P1M", "bad_ttl"),
        ("TTL", "9" * 5_000, "bad_ttl"),
        ("PayloadType-FQCN", "acme.", "missing_name"),
        ("PayloadType-Namespace", "acme", "missing_name"),
        ("PayloadType-Revision", "2", "missing_name"),
        ("ID", b"\xff\xfe", "unreadable"),
    ],
)
def test_a_header_that_cannot_be_read_is_a_dead_letter_with_its_reason(
    name: str, value: str | bytes, reason: str
) -> None:
    letter = one(name, value)
    assert isinstance(letter, RejectedRow)
    assert letter.reason == reason
    assert letter.field.lower() in f"x-correlate-{name}".lower()
    assert 0 < len(letter.value) <= 200


def test_all_headers_are_kept_as_text() -> None:
    headers: Headers = [("a", "1"), ("b", b"\xc3\xbc"), ("c", b"\xff"), ("d", None)]
    assert header_texts(headers) == {"a": "1", "b": "ü", "c": "\\xff"}

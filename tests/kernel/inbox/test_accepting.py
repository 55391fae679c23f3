"""Accepting: what a source brought becomes a message, is passed over, or is a dead letter."""

from typing import Any

import pytest

from conjoin.kernel.inbox import InboxMessage, accept
from conjoin.kernel.inbox.accepting import Arrival, Ignored
from conjoin.kernel.inbox.channels import Channel, Types
from conjoin.kernel.inbox.headers import RejectedRow
from conjoin.kernel.inbox.message import Hint, MessageType, identity_of
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import read_policies
from tests.kernel.inbox.simulator import S, preset

ARRIVAL = Arrival(3, "orders-0", 42, 100 * S, b"{}", hint=Hint("paid", "order-7"))
CHANNEL = Channel("orders")


def taken(arrival: Arrival = ARRIVAL, channel: Channel = CHANNEL, **changes: Any) -> InboxMessage:
    message = accept(arrival, channel, preset(**changes))
    assert isinstance(message, InboxMessage)
    return message


def with_header(name: str, value: str) -> Arrival:
    return ARRIVAL._replace(headers=((f"X-CORRELATE-{name}", value),))


def test_a_message_that_says_nothing_of_itself_takes_everything_from_where_it_came() -> None:
    message = taken()
    assert (message.message_id, message.event_at, message.ingested_at) == ("orders-0-42", 100 * S, 100 * S)
    assert (message.grace_until, message.expires_at, message.encoding) == (ALWAYS, NEVER, "json")
    assert (message.state, message.group_key) == ("waiting", '["key","<default>","order-7"]')


def test_a_message_that_is_read_again_is_the_same_message() -> None:
    again = ARRIVAL._replace(key=4, received_at=200 * S)
    assert identity_of(taken()) == identity_of(taken(again))


def test_another_place_channel_or_tenant_is_another_message() -> None:
    others = [
        taken(ARRIVAL._replace(position=43)),
        taken(ARRIVAL._replace(source="orders-1")),
        taken(ARRIVAL._replace(tenant_id="acme")),
        taken(channel=Channel("other")),
    ]
    assert len({identity_of(message) for message in [taken(), *others]}) == 5


def test_what_the_headers_say_is_kept() -> None:
    message = taken(with_header("PayloadType-FQCN", "acme.Paid"))
    assert message.type == MessageType("acme", "Paid")
    assert message.headers == {"X-CORRELATE-PayloadType-FQCN": "acme.Paid"}


@pytest.mark.parametrize(
    ("header", "channel", "setting", "second"),
    [
        ("PT1S", 2_000, 3_000, 101),
        (None, 2_000, 3_000, 102),
        (None, None, 3_000, 103),
        ("PT0S", 2_000, 3_000, 100),
        (None, 0, 3_000, 100),
    ],
)
def test_a_header_stands_over_the_channel_and_the_channel_over_the_settings(
    header: str | None, channel: int | None, setting: int, second: int
) -> None:
    arrival = with_header("TTL", header) if header else ARRIVAL
    message = taken(arrival, Channel("orders", grace=channel), grace=setting)
    assert message.grace_until == second * S


@pytest.mark.parametrize(
    ("header", "channel", "encoding"), [("avro", "xml", "avro"), (None, "xml", "xml"), (None, None, "json")]
)
def test_the_encoding_of_a_message_is_found_in_the_same_way(
    header: str | None, channel: str | None, encoding: str
) -> None:
    arrival = with_header("Payload-Encoding", header) if header else ARRIVAL
    assert taken(arrival, Channel("orders", encoding=channel)).encoding == encoding


def test_the_grace_time_counts_from_the_event_and_the_expiration_from_ingestion() -> None:
    message = taken(with_header("Timestamp", "1970-01-01T00:00:10Z"), grace=5_000, expiration=5_000)
    assert (message.event_at, message.grace_until, message.expires_at) == (10 * S, 15 * S, 105 * S)


def test_the_grace_time_counts_from_ingestion_where_the_settings_say_so() -> None:
    arrival = with_header("Timestamp", "1970-01-01T00:00:10Z")
    assert taken(arrival, grace=5_000, grace_from="ingestion").grace_until == 105 * S


@pytest.mark.parametrize(
    ("header", "channel", "policy", "setting", "second"),
    [
        ("PT1S", 2_000, "4s", 3_000, 101),
        (None, 2_000, "4s", 3_000, 102),
        (None, None, "4s", 3_000, 104),
        (None, None, "none", 3_000, 103),
        (None, None, "0s", 3_000, 100),
    ],
)
def test_the_policy_of_its_name_stands_between_channel_and_settings(
    header: str | None, channel: int | None, policy: str, setting: int, second: int
) -> None:
    policies, problems = read_policies("zeebe", {"paid": {"grace": policy}, "*": {"grace": "1h"}})
    assert problems == []
    arrival = (with_header("TTL", header) if header else ARRIVAL)._replace(hint=Hint("paid", "o-1"))
    message = accept(arrival, Channel("orders", grace=channel), preset(grace=setting), policies)
    assert isinstance(message, InboxMessage)
    assert message.grace_until == second * S


def test_profile_correlate_has_a_grace_time_of_ten_seconds() -> None:
    message = accept(ARRIVAL, CHANNEL, preset(), read_policies("correlate", {})[0])
    assert isinstance(message, InboxMessage)
    assert message.grace_until == 110 * S


@pytest.mark.parametrize(("match", "key"), [("key", ""), ("business_key", "b-1"), ("variables", "2251799813685249")])
def test_hint_without_a_key_has_what_stands_in_for_it(match: str, key: str) -> None:
    policies, _ = read_policies("correlate", {"paid": {"match": match}})
    hint = Hint("paid", business_key="b-1", process_instance_id="2251799813685249")
    for target, wanted in (("", key), ("camunda-7", "")):
        message = accept(ARRIVAL._replace(hint=hint), Channel("orders", target=target), preset(), policies)
        assert isinstance(message, InboxMessage)
        assert message.hint.correlation_key == wanted
    keyed = accept(ARRIVAL._replace(hint=hint._replace(correlation_key="o-1")), CHANNEL, preset(), policies)
    assert isinstance(keyed, InboxMessage)
    assert keyed.hint.correlation_key == "o-1"


def test_an_expiration_of_its_own_stands_over_all_others() -> None:
    arrival = with_header("Expiration", "1970-01-01T00:00:50Z")
    assert taken(arrival, Channel("orders", expiration=1), expiration=2).expires_at == 50 * S
    assert taken(ARRIVAL, Channel("orders", expiration=1_000), expiration=2).expires_at == 101 * S


@pytest.mark.parametrize("payload", [b"{}", None])
def test_what_the_filter_does_not_want_is_passed_over(payload: bytes | None) -> None:
    wants = Channel("orders", filter=Types(frozenset({"acme.Paid"})))
    arrival = with_header("PayloadType-FQCN", "acme.Sent")._replace(payload=payload)
    assert accept(arrival, wants, preset()) == Ignored("acme.Sent")
    assert isinstance(accept(with_header("PayloadType-FQCN", "acme.Paid"), wants, preset()), InboxMessage)


@pytest.mark.parametrize(
    ("arrival", "letter"),
    [
        (ARRIVAL._replace(payload=None), RejectedRow("unreadable", "payload")),
        (ARRIVAL._replace(payload=b"12345"), RejectedRow("too_large", "payload", "12345")),
        (with_header("TTL", "soon"), RejectedRow("bad_ttl", "ttl", "soon")),
    ],
)
def test_what_cannot_be_taken_is_a_dead_letter(arrival: Arrival, letter: RejectedRow) -> None:
    assert accept(arrival, CHANNEL, preset(payload_max=4)) == letter

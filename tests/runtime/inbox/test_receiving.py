"""What comes in is kept once; what cannot be read, is not wanted or comes again is counted, and stops nobody."""

from random import Random

import pytest

from conjoin.errors import InputError
from conjoin.kernel.inbox.channels import Channel, Types
from conjoin.kernel.inbox.message import Hint
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.rows import LONGEST_ID
from conjoin.store import tables as t
from tests.runtime.inbox.bench import CHANNEL, Bench, preset
from tests.runtime.inbox.conftest import Make

TYPE = "X-CORRELATE-PayloadType-Name"


def dead_letters(bench: Bench) -> list[tuple[str, str, bytes]]:
    rows = bench.broker.store.rows(t.DEAD_LETTER, {}, None, 100)
    return [(row.reason, row.text, bytes(row.raw)) for row in rows]


def test_a_message_is_stored_as_it_came(bench: Bench) -> None:
    headers = [("X-CORRELATE-Timestamp", "2029-12-31T23:00:00Z"), (TYPE, "OrderPaid"), ("traceparent", b"\xff00")]
    hint = Hint("paid", "o-1", {"n": 1.5}, "id-7", {"a": [1]}, "b-1", "order", "i-1", "x-1", "acme", True, "")
    bench.send("", "m-1", hint=hint, payload=b"\x00\xff raw", headers=headers, tenant_id="acme")
    shown = bench.inbox.show(bench.row("m-1").key)
    assert shown is not None
    assert (shown.hint, shown.payload, shown.type.name) == (hint, b"\x00\xff raw", "OrderPaid")
    assert shown.headers["traceparent"] == "\\xff00"
    assert shown.event_at == bench.broker.now - 3_600_000_000
    assert (shown.item.tenant_id, shown.item.type, shown.item.ingested_at) == ("acme", "OrderPaid", bench.broker.now)


def test_a_duplicate_is_acknowledged_and_not_stored_again(bench: Bench) -> None:
    first = bench.send("o-1", "m-1")
    again = bench.send("o-1", "m-1", payload={"other": "content"})
    assert (first.persisted, again.persisted, again.duplicate, again.accepted) == (1, 0, 1, 1)
    assert len(bench.rows()) == 1


def test_duplicates_in_one_delivery_are_one_message(bench: Bench) -> None:
    counts = bench.send_many([bench.arrival("o-1", "m-1") for _ in range(3)])
    assert (counts.persisted, counts.duplicate) == (1, 2)


def test_a_duplicate_of_what_is_over_is_known_until_it_is_removed(bench: Bench) -> None:
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    bench.run()
    assert bench.send("o-1", "m-1").duplicate == 1
    bench.clean(after_s=8 * 86_400)
    assert bench.send("o-1", "m-1").persisted == 1


def test_the_same_id_on_another_channel_or_tenant_is_another_message(bench: Bench) -> None:
    bench.configure(bench.settings, {CHANNEL: Channel(CHANNEL), "other": Channel("other")})
    bench.send("o-1", "m-1")
    assert bench.send("o-1", "m-1", "other").persisted == 1
    assert bench.send("o-1", "m-1", tenant_id="acme").persisted == 1


def test_a_message_without_an_id_is_known_by_its_place_in_the_source(bench: Bench) -> None:
    arrivals = [bench.arrival("o-1", position=7)._replace(headers=()) for _ in range(2)]
    counts = bench.send_many(arrivals)
    assert (counts.persisted, counts.duplicate) == (1, 1)
    assert [row.message_id for row in bench.rows()] == ["topic-0-7"]


@pytest.mark.parametrize(
    ("about", "reason"),
    [
        ({"payload": None}, "unreadable"),
        ({"payload": b"x" * 11}, "too_large"),
        ({"name": ""}, "missing_name"),
        ({"name": " "}, "missing_name"),
        ({"headers": [("X-CORRELATE-Timestamp", "yesterday")]}, "bad_time"),
        ({"headers": [("X-CORRELATE-TTL", "soon")]}, "bad_ttl"),
        ({"headers": [("X-CORRELATE-ID", "x" * (LONGEST_ID + 1))]}, "bad_type"),
        ({"headers": [("X-CORRELATE-ID", "a\0b")]}, "bad_type"),
        ({"hint": Hint("paid", "k\ud800")}, "bad_type"),
        ({"hint": Hint("paid", "x" * 40_000)}, "bad_type"),
        ({"hint": Hint("paid", "k", {"x": object()})}, "bad_type"),
    ],
)
def test_what_cannot_be_read_is_a_dead_letter_and_the_others_go_on(
    single: Make, about: dict[str, object], reason: str
) -> None:
    bench = single(preset(payload_max=10))
    key = "" if "hint" in about else "o-1"
    counts = bench.send_many(
        [bench.arrival("o-0", "m-0"), bench.arrival(key, "m-1", **about), bench.arrival("o-2", "m-2")]
    )
    assert (counts.received, counts.persisted, counts.dead_lettered) == (3, 2, 1)
    assert [found for found, _, _ in dead_letters(bench)] == [reason]
    assert set(bench.states()) == {"m-0", "m-2"}


def test_a_dead_letter_keeps_its_bytes_and_says_why(bench: Bench) -> None:
    bench.send("o-1", headers=[("X-CORRELATE-TTL", "so\0on")], payload=b"\xff\x00")
    assert dead_letters(bench) == [("bad_ttl", "ttl: so\\0on", b"\xff\x00")]


def test_a_type_that_the_channel_does_not_want_is_ignored(single: Make) -> None:
    bench = single()
    bench.configure(bench.settings, {CHANNEL: Channel(CHANNEL, filter=Types(frozenset({"OrderPaid"})))})
    counts = bench.send("o-1", headers=[(TYPE, "OrderSent")]) + bench.send("o-1", headers=[(TYPE, "OrderPaid")])
    assert (counts.received, counts.ignored, counts.persisted) == (2, 1, 1)


def test_who_sends_to_a_channel_that_is_not_enabled_is_told(single: Make) -> None:
    bench = single()
    bench.configure(bench.settings, {CHANNEL: Channel(CHANNEL, enabled=False)})
    assert bench.send("o-1") == Counts(received=1, dropped=1)
    with pytest.raises(InputError, match="there is no channel 'nowhere'"):
        bench.send("o-1", channel="nowhere")


def test_everything_that_was_received_is_accounted_for(single: Make) -> None:
    bench = single()
    bench.configure(bench.settings, {CHANNEL: Channel(CHANNEL, filter=Types(frozenset({"OrderPaid"})))})
    wanted = [(TYPE, "OrderPaid")]
    arrivals = [bench.arrival("o-1", f"m-{n % 5}", headers=wanted) for n in range(9)]
    arrivals += [bench.arrival("o-1", headers=[(TYPE, "Other")]), bench.arrival("o-1", headers=wanted, payload=None)]
    counts = bench.send_many(arrivals)
    assert counts.received == 11 == counts.ignored + counts.accepted + counts.dead_lettered
    assert counts.accepted == counts.persisted + counts.duplicate
    assert counts.persisted == len(bench.rows()) == 5


def test_more_than_a_commit_holds_are_stored_in_several(bench: Bench) -> None:
    counts = bench.send_many([bench.arrival(f"o-{n}", f"m-{n}") for n in range(2_500)])
    assert counts.persisted == 2_500
    assert len(bench.rows()) == 2_500


def test_long_names_of_groups_are_told_apart(bench: Bench) -> None:
    keys = ["k" * 20_000 + end for end in "ab"]
    bench.wait(keys[1])
    for key in keys:
        bench.send(key, f"m-{key[-1]}")
    assert bench.run().correlated == 1
    assert bench.states() == {"m-a": "waiting", "m-b": "done"}


def test_the_order_of_an_expression_is_read_from_the_payload(single: Make) -> None:
    bench = single(preset(order="= seq * 2", mode="all", batch_size=1))
    for number, seq in enumerate((30, 4, "text", None, 5)):
        bench.send("o-1", f"m-{number}", payload={"seq": seq})
    bench.send("o-1", "m-bad", payload=b"{")
    tried = []
    for _ in range(6):
        before = {row.message_id: row.attempts for row in bench.rows()}
        bench.run(after_s=1)
        tried += [row.message_id for row in bench.rows() if row.attempts > before[row.message_id]]
    assert tried == ["m-1", "m-4", "m-0", "m-2", "m-3", "m-bad"]


@pytest.mark.parametrize(
    ("of_settings", "of_channel", "of_message", "expected"),
    [
        ("avro", None, None, "avro"),
        ("avro", "xml", None, "xml"),
        ("avro", "xml", "json", "json"),
        ("json", None, None, "json"),
    ],
)
def test_the_message_stands_over_its_channel_and_the_channel_over_the_settings(
    single: Make, of_settings: str, of_channel: str | None, of_message: str | None, expected: str
) -> None:
    bench = single(preset(encoding=of_settings, grace=None if of_settings == "json" else 20_000))
    channel = Channel(CHANNEL, encoding=of_channel, grace=None if of_channel is None else 10_000)
    bench.configure(bench.settings, {CHANNEL: channel})
    headers = [] if of_message is None else [("X-CORRELATE-Payload-Encoding", of_message), ("X-CORRELATE-TTL", "5s")]
    bench.send("o-1", "m-1", headers=headers)
    shown = bench.inbox.show(bench.row("m-1").key)
    assert shown is not None
    assert shown.encoding == expected
    grace_s = (bench.row("m-1").grace_until - bench.broker.now) / 1_000_000
    assert max(grace_s, 0) == (5 if of_message else 10 if of_channel else 20 if of_settings == "avro" else 0)


def test_the_longest_names_fit_into_every_index(make: Make) -> None:
    bench = make(preset(order="message_id"))
    chance = Random(7)

    def text(length: int) -> str:
        return "".join(chr(chance.randrange(0x10000, 0x10FFFF)) for _ in range(length))

    for _ in range(3):
        tenant, key, group = text(LONGEST_ID), text(8_000), text(8_000)
        bench.send("", text(LONGEST_ID), hint=Hint("paid", key, group=group), tenant_id=tenant)
        bench.send("", text(LONGEST_ID), hint=Hint("paid", key), tenant_id=tenant)
    assert bench.run().target_error == 6

"""Lists of messages, page by page, and everything about one of them."""

from typing import Any

import pytest

from conjoin.errors import InputError
from conjoin.kernel.inbox.operations import Pause
from conjoin.runtime.reading.lists import ListQuery
from tests.runtime.inbox.bench import CHANNEL, REMOTE, Bench, preset
from tests.runtime.inbox.conftest import Make

TYPE = "X-CORRELATE-PayloadType-FQCN"


@pytest.fixture
def told(make: Make) -> Bench:
    """One message of each kind, in the order of their ids."""
    bench = make(preset(max_attempts=1))
    bench.wait("o-1")
    bench.send("o-1", "done", headers=[(TYPE, "orders.Paid")])
    bench.send("o-2", "nobody", headers=[(TYPE, "orders.Sent")])
    bench.send("o-3", "garbled", payload=b"{")
    bench.send("o-4", "remote", REMOTE, tenant_id="acme")
    bench.run()
    bench.clock.advance_ms(60_000)
    bench.send("o-5", "paused", name="sent")
    bench.operate("paused", Pause())
    return bench


def ids(bench: Bench, filters: dict[str, Any], **more: Any) -> set[str]:
    return {item.message_id for item in bench.inbox.page(ListQuery(filters, **more)).items}


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, {"done", "nobody", "garbled", "remote", "paused"}),
        ({"state": "parked"}, {"nobody", "garbled"}),
        ({"state": "done", "target": "elsewhere"}, {"remote"}),
        ({"channel": CHANNEL, "state": "done"}, {"done"}),
        ({"type": "orders.Sent"}, {"nobody"}),
        ({"name": "sent"}, {"paused"}),
        ({"key": "o-3"}, {"garbled"}),
        ({"id": "done"}, {"done"}),
        ({"tenant": "acme"}, {"remote"}),
        ({"error": "decode_error"}, {"garbled"}),
        ({"text": "nobody waited"}, {"nobody"}),
        ({"state": "parked", "text": "JSON"}, {"garbled"}),
    ],
)
def test_messages_are_found_by_what_people_know_of_them(
    told: Bench, filters: dict[str, Any], expected: set[str]
) -> None:
    assert ids(told, filters) == expected


def test_messages_are_found_by_their_age(told: Bench) -> None:
    cut = told.broker.now - 30_000_000
    assert ids(told, {}, until=cut) == {"done", "nobody", "garbled", "remote"}
    assert ids(told, {}, since=cut) == {"paused"}


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_pages_leave_nothing_out_and_repeat_nothing(told: Bench, size: int) -> None:
    seen, after = [], None
    while True:
        page = told.inbox.page(ListQuery(limit=size, after=after))
        seen += [item.message_id for item in page.items]
        if page.after is None:
            break
        after = page.after
    assert sorted(seen) == ["done", "garbled", "nobody", "paused", "remote"]


@pytest.mark.parametrize("filters", [{"state": "praked"}, {"error": "timeout"}, {"colour": "red"}])
def test_a_slip_of_the_pen_is_told(told: Bench, filters: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        told.inbox.page(ListQuery(filters))


def test_an_item_says_what_became_of_its_message(told: Bench) -> None:
    items = {item.message_id: item for item in told.inbox.page(ListQuery()).items}
    verdicts = {id_: (item.verdict, item.reason) for id_, item in items.items()}
    assert verdicts == {
        "done": ("correlated", "waiting_instance"),
        "nobody": ("parked", "attempts_exhausted"),
        "garbled": ("parked", "attempts_exhausted"),
        "remote": ("correlated", "waiting_instance"),
        "paused": ("waiting", "paused"),
    }


def test_one_message_is_shown_with_everything_about_it(told: Bench) -> None:
    shown = told.inbox.show(told.row("garbled").key)
    assert shown is not None
    assert shown.sentence.startswith(
        "Parked: delivering 'paid' with key 'o-3' was given up after 1 attempts: the payload"
    )
    assert (shown.payload, shown.encoding, shown.headers["X-CORRELATE-ID"]) == (b"{", "json", "garbled")
    [line] = shown.history
    assert (line.kind, line.verdict, line.reason) == ("attempt", "failed", "decode_error")
    done = told.inbox.show(told.row("done").key)
    assert done is not None
    assert done.message_key == told.row("done").message_key
    assert done.sentence == f"Correlated: instance {done.taken_by} was already waiting for 'paid' with key 'o-1'."


def test_what_is_not_there_is_not_shown(told: Bench) -> None:
    assert told.inbox.show(4711) is None


def test_gauges_count_states_and_say_how_late_the_oldest_is(told: Bench) -> None:
    told.run()
    assert told.inbox.gauges() == ({"done": 2, "parked": 2, "paused": 1}, 0)
    told.send("o-9", "late")
    told.clock.advance_ms(7_000)
    gauges = told.inbox.gauges()
    assert (gauges.states["waiting"], gauges.oldest_due_ms) == (1, 7_000)

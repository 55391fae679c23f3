"""A parked message says why nobody takes it: the same near misses as of any message, and what a retry would do now."""

import pytest

from conjoin.runtime.explain import inbox_messages
from tests.runtime.inbox.bench import Bench, preset

ONE_TRY = preset(max_attempts=1)


def parked(bench: Bench, key: str) -> int:
    bench.configure(ONE_TRY)
    bench.send(key, "m")
    bench.run(60)
    assert bench.states()["m"] == "parked"
    return bench.row("m").key


def test_a_parked_message_with_a_slip_in_its_key_names_who_waits(bench: Bench) -> None:
    [order] = bench.wait("order-7")
    shown = bench.inbox.show(parked(bench, "ORDER-7"))
    assert shown is not None
    [miss] = shown.near_misses
    assert (miss["kind"], miss["instance"], miss["differs"]) == ("other_key", order, "case or blanks only")
    assert shown.sentence.startswith("Parked: ")
    assert shown.sentence.endswith(
        f"process order (instance {order} at paid) waits for it with key 'order-7' - "
        "the key differs in case or blanks only."
    )
    assert shown.now.startswith("If it were published now, it would be refused: nobody waited for 'paid'")
    assert shown.as_json()["near_misses"][0]["text"] in shown.sentence


def test_a_parked_message_whose_instance_waits_by_now_says_that_a_retry_helps(bench: Bench) -> None:
    key = parked(bench, "order-8")
    [order] = bench.wait("order-8")
    shown = bench.inbox.show(key)
    assert shown is not None
    assert shown.now == (
        f"If it were published now, it would be correlated: process order (instance {order} at paid) was already "
        "waiting for 'paid' with key 'order-8'."
    )
    assert shown.near_misses == []


def test_where_nothing_is_near_nothing_is_advised(bench: Bench) -> None:
    bench.wait("order-9", "order-11")
    shown = bench.inbox.show(parked(bench, "order-10"))
    assert shown is not None
    assert shown.near_misses == []


def test_what_a_remote_system_is_to_take_is_not_explained_by_who_waits_here(bench: Bench) -> None:
    bench.configure(ONE_TRY)
    bench.wait("order-7")
    bench.send("ORDER-7", "m", channel="remote")
    shown = bench.inbox.show(bench.row("m").key)
    assert shown is not None
    assert (shown.near_misses, shown.now) == ((), "")


def test_an_inbox_message_is_shown_without_what_comes_near(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    key = parked(bench, "²²²")

    def fails(*_: object) -> None:
        raise ValueError("a mistake of ours")

    monkeypatch.setattr(inbox_messages, "explain_named", fails)
    shown = bench.inbox.show(key)
    assert shown is not None
    assert (shown.item.state, shown.near_misses, shown.now) == ("parked", (), "")
    assert "a mistake of ours" in caplog.text

"""conjoin store tick: what has fallen due happens, once or until interrupted."""

import time

import pytest

from conjoin.errors import StoreDamaged, StoreFailed
from conjoin.runtime.broker import Broker
from conjoin.testing.clock import FakeClock
from tests.cli.command import Command


def test_timer_fires_and_message_expires_when_their_time_has_come(shop: Command, clock: FakeClock) -> None:
    shop.tells("create reminder")
    shop.tells("publish paid --key o-1 --ttl 1h")
    clock.advance_ms(3_599_999)
    assert shop.tells("tick") == "everything that was due is done"
    assert shop.open() == {"instances": 1, "timers": 1, "buffered": 1}
    clock.advance_ms(1)
    shop.tells("tick")
    assert shop.open() == {"instances": 1, "jobs": 1}


def test_repeated_until_interrupted_which_is_a_good_end(
    shop: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        clock.advance_ms(1_200_000)
        if len(pauses) == 4:
            raise KeyboardInterrupt

    shop.tells("create reminder")
    monkeypatch.setattr(time, "sleep", pause)
    assert shop.tells("tick --every 1.5s") == ""
    assert pauses == [1.5] * 4
    assert shop.open() == {"instances": 1, "jobs": 1}


def test_what_was_kept_for_long_enough_goes_with_a_tick_now_and_then(shop: Command, clock: FakeClock) -> None:
    shop.tells("publish nobody --key x")
    shop.tells("publish nobody --key y --ttl 20d")
    assert shop.json("tick")["removed"]["messages"] == 0
    clock.advance_ms(8 * 86_400_000)
    shop.tells("publish nobody --key x")
    assert shop.json("tick")["removed"] == {"messages": 1, "subscriptions": 0, "instances": 0, "log_blocks": 0}
    assert len(shop.tells("messages list --json").splitlines()) == 2
    assert shop("verify").code == 0


def test_what_is_over_is_looked_for_every_ten_minutes(
    shop: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONJOIN_MESSAGE_RETENTION", "0")
    removed = []
    for minutes in (0, 9, 1, 10):
        clock.advance_ms(minutes * 60_000)
        shop.tells("publish nobody --key x")
        clock.advance_ms(1)
        removed.append(shop.json("tick")["removed"]["messages"])
    assert removed == [1, 0, 2, 1]


def test_repeating_removes_what_is_over_too(shop: Command, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    def pause(seconds: float) -> None:
        raise KeyboardInterrupt

    shop.tells("publish nobody --key x")
    clock.advance_ms(8 * 86_400_000)
    monkeypatch.setattr(time, "sleep", pause)
    shop.tells("tick --every 1s")
    assert shop.tells("messages list --json") == ""


def test_repeating_goes_on_after_a_failure_that_may_pass(shop: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    errors = iter([StoreFailed("the disk is full"), KeyboardInterrupt()])

    def fails(self: Broker) -> None:
        raise next(errors)

    monkeypatch.setattr(Broker, "tick", fails)
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    said = shop("tick --every 1s")
    assert (said.code, said.err) == (0, "conjoin: the disk is full\n")


def test_repeating_ends_with_a_failure_that_does_not_pass(shop: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(self: Broker) -> None:
        raise StoreDamaged("shard-00.db", "malformed")

    monkeypatch.setattr(Broker, "tick", fails)
    assert shop.cannot("tick --every 1s").startswith("shard-00.db is damaged (malformed)")


@pytest.mark.parametrize(("every", "told"), [("0", "a pause is at least 1ms"), ("often", "'often' is not a duration")])
def test_pause_that_is_none_is_named(every: str, told: str, shop: Command) -> None:
    assert told in shop.cannot(f"tick --every {every}")


def test_signal_starts_what_it_starts_once_whatever_the_number_of_shards(shop: Command) -> None:
    assert shop.tells("broadcast signal fire --variables '{\"floor\": 3}'") == "broadcast signal fire"
    (job,) = shop.json("activate evacuate --max 9")["jobs"]
    assert job["variables"] == {"floor": 3}

"""conjoin tick: what has fallen due happens, once or until interrupted."""

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

"""Cleanup ends what is past its expiration and removes what is over, a bounded number in each commit."""

import pytest

from conjoin.kernel.inbox.operations import Pause
from conjoin.store import tables as t
from tests.runtime.inbox.bench import CHANNEL, Bench, preset
from tests.runtime.inbox.conftest import Make

EXPIRES = ("X-CORRELATE-Expiration", "2030-01-01T00:01:00Z")
DAY_S = 86_400


@pytest.mark.parametrize("fate", ["never tried", "failed", "paused", "parked"])
def test_an_expiration_is_honoured_whatever_became_of_the_message(make: Make, fate: str) -> None:
    bench = make(preset(max_attempts=1 if fate == "parked" else 100))
    bench.send("o-1", "m-1", headers=[EXPIRES])
    if fate in ("failed", "parked"):
        bench.run()
    if fate == "paused":
        bench.operate("m-1", Pause())
    assert bench.clean(after_s=59).expired == 0
    assert bench.clean(after_s=1).expired == 1
    row = bench.row("m-1")
    assert (row.state, row.verdict) == ("expired", "expired")
    assert row.reason == ("nobody_waited" if fate in ("failed", "parked") else "never_offered")
    bench.wait("o-1")
    assert bench.run(after_s=600).correlated == 0


def test_a_run_does_not_try_what_has_expired(bench: Bench) -> None:
    bench.wait("o-1")
    bench.send("o-1", "m-1", headers=[EXPIRES])
    bench.send("o-1", "m-2")
    counts = bench.run(after_s=60)
    assert (counts.expired, counts.correlated) == (1, 1)
    assert bench.states() == {"m-1": "expired", "m-2": "done"}


def test_whoever_stood_behind_an_expired_message_has_its_turn(bench: Bench) -> None:
    bench.send("o-1", "m-1", headers=[EXPIRES])
    bench.send("o-1", "m-2")
    bench.operate("m-1", Pause())
    bench.run()
    bench.wait("o-1")
    bench.clean(after_s=60)
    assert bench.run(after_s=6).correlated == 1


def test_an_expiration_of_the_settings_holds_for_messages_that_name_none(make: Make) -> None:
    bench = make(preset(expiration=10_000))
    bench.send("o-1", "m-1")
    bench.send("o-2", "m-2", headers=[EXPIRES])
    bench.clean(after_s=10)
    assert bench.states() == {"m-1": "expired", "m-2": "waiting"}


def test_what_is_over_is_removed_after_its_retention_with_its_history(make: Make) -> None:
    bench = make(preset(retention=DAY_S * 1_000))
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    bench.send("o-2", "m-2")
    bench.run()
    assert bench.clean(after_s=DAY_S - 1).removed == 0
    assert bench.clean(after_s=1).removed == 1
    assert set(bench.states()) == {"m-2"}
    [left] = bench.rows()
    for table, column in ((t.INBOX_CONTENT, "key"), (t.INBOX_ATTEMPT, "inbox_key")):
        assert {getattr(row, column) for row in bench.broker.store.rows(table, {}, None, 99)} == {left.key}


def test_without_a_retention_nothing_is_removed(single: Make) -> None:
    bench = single(preset(retention=None))
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    bench.run()
    assert bench.clean(after_s=1_000 * DAY_S).removed == 0


def test_cleanup_goes_on_until_nothing_is_left(single: Make) -> None:
    bench = single(preset(retention=0))
    bench.send_many([bench.arrival(f"o-{n}", headers=[EXPIRES]) for n in range(250)], CHANNEL)
    bench.inbox._at_once = 100
    counts = bench.clean(after_s=60)
    assert (counts.expired, counts.removed + len(bench.rows())) == (250, 250)
    assert bench.clean().removed + counts.removed == 250


def test_who_has_lost_the_lease_cleans_no_more(single: Make) -> None:
    bench = single()
    bench.send("o-1", "m-1", headers=[EXPIRES])
    bench.clock.advance_ms(60_000)
    assert bench.inbox.clean_up(lambda: False).expired == 0

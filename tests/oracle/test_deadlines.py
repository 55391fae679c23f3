"""Deadlines, `as_of` and rows that come later (F).

Each test names the rule it pins, with what was derived from it by hand.
"""

from __future__ import annotations

import pytest

from .facts import FOREVER, Outcome
from .history import History, Row
from .model import play
from .told import KEY, TENANT, at, end, lock, message, received, run, start, subscription


@pytest.mark.parametrize(("opened_ms", "taken"), [(2, ["s"]), (3, [])])
def test_f1_at_the_deadline_it_is_not_eligible(opened_ms: int, taken: list[str]) -> None:
    assert received(run(message(1, 0, ttl_ms=3), subscription("s", opened_ms)), 1) == taken


def test_f1_one_microsecond_before_the_deadline_it_is() -> None:
    late = subscription("s", 0) | {"opened_at": at(3) - 1}
    assert received(run(message(1, 0, ttl_ms=3), late), 1) == ["s"]


def test_f2_an_expired_head_is_skipped() -> None:
    outcome = run(message(1, 0, ttl_ms=2), message(2, 1), subscription("s", 2))
    assert received(outcome, 2) == ["s"]
    assert outcome.verdicts[1] == ("expired", "nobody_waited")
    assert outcome.decided_at[1] == at(2)


def test_f13_expiry_keeps_the_lock_and_a_correlated_verdict() -> None:
    outcome = run(start("p"), message(1, 0, ttl_ms=2))
    assert outcome.locks == {lock("p"): 1}
    assert outcome.buffered == {}
    assert outcome.verdicts[1] == ("correlated", "started_instance")


@pytest.mark.parametrize(("as_of", "verdict"), [(2, "buffered"), (3, "expired")])
def test_as_of_at_the_deadline_calls_it_expired(as_of: int, verdict: str) -> None:
    assert run(message(1, 0, ttl_ms=3), as_of=as_of).verdicts[1][0] == verdict


def test_ttl_of_the_largest_long_never_expires() -> None:
    outcome = run(message(1, 0, ttl_ms=2**63 - 1, message_id="a"), as_of=10**12)
    assert outcome.verdicts[1] == ("buffered", "nobody_waits")
    assert outcome.ids == {(TENANT, "n", KEY, "a", FOREVER)}


@pytest.mark.parametrize(("ttl", "verdict"), [("none", "buffered"), (None, "buffered"), ("2ms", "expired")])
def test_time_to_live_is_for_messages_that_name_none(ttl: str | None, verdict: str) -> None:
    outcome = run(message(1, 0, ttl_ms=None), message(2, 0, ttl_ms=0), time_to_live=ttl)
    assert outcome.verdicts[1][0] == verdict
    assert outcome.verdicts[2] == ("discarded", "ttl_zero")


def test_as_of_default_is_the_latest_time_but_not_of_starts() -> None:
    outcome = run(message(1, 0, ttl_ms=3), start("p", 50, 60), as_of=None)
    assert outcome.verdicts[1] == ("buffered", "nobody_waits")


@pytest.mark.parametrize("row", [subscription("s", 1, 3, name="m"), end("p", 3), message(2, 3)])
def test_as_of_default_counts_closings_ends_and_publications(row: Row) -> None:
    assert run(message(1, 0, ttl_ms=3), row, as_of=None).verdicts[1] == ("expired", "nobody_waited")


def test_rows_after_as_of_are_later_and_play_no_role() -> None:
    rows = [
        message(1, 0),
        message(2, 3),
        subscription("s", 3),
        end("p", 2),
        end("p", 3),
        subscription("t", 4, 1),
    ]
    outcome = run(*rows, as_of=2)
    later = {("messages", 2), ("subscriptions", "s"), ("subscriptions", "t"), ("ends", 1)}
    assert outcome.later == later
    assert set(outcome.verdicts) == {1}
    assert outcome.open == set()
    assert outcome.ends_ignored == 1


def test_a_closing_after_as_of_has_not_happened() -> None:
    assert run(subscription("s", 0, 3), as_of=2).open == {"s"}
    assert run(subscription("s", 0, 3), as_of=3).open == set()


def test_an_empty_history_gives_an_empty_outcome() -> None:
    assert play(History()) == Outcome()

"""Opening, closing, the order inside one instant, and non-interrupting subscriptions (C, E).

Each test names the rule it pins, with what was derived from it by hand.
"""

from __future__ import annotations

import pytest

from .history import Row
from .told import at, end, message, received, run, start, subscription


@pytest.mark.parametrize("other", [{"name": "m"}, {"correlation_key": "x"}, {"tenant_id": "t"}])
def test_c10_another_name_key_or_tenant_is_not_seen(other: Row) -> None:
    assert run(subscription("s", 0), message(1, 1, **other)).pairs == set()


def test_c4_a_closed_subscription_gets_nothing() -> None:
    outcome = run(subscription("s", 0, 2), message(1, 3))
    assert outcome.pairs == set()
    assert outcome.open == set()


def test_order_closing_comes_before_publication() -> None:
    assert run(subscription("s", 0, 2), message(1, 2)).pairs == set()


def test_order_opening_comes_before_publication() -> None:
    outcome = run(subscription("s", 2), message(1, 2, ttl_ms=0))
    assert outcome.verdicts[1] == ("correlated", "waiting_instance")


def test_order_openings_go_by_subscription_id() -> None:
    outcome = run(message(1, 0), subscription("s2", 1), subscription("s1", 1))
    assert received(outcome, 1) == ["s1"]


def test_order_closing_comes_before_opening() -> None:
    outcome = run(subscription("s1", 0, 2), subscription("s2", 2), duplicate_subscription="reject")
    assert outcome.open == {"s2"}
    assert outcome.refused_subscriptions == set()


def test_order_an_end_comes_before_publication() -> None:
    outcome = run(start("p"), message(1, 0), end("p", 2), message(2, 2, ttl_ms=0))
    assert outcome.verdicts[2] == ("correlated", "started_instance")


def test_order_an_end_comes_before_opening() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1), end("p", 2), subscription("s", 2))
    assert outcome.verdicts[2] == ("correlated", "started_after_lock")
    assert outcome.open == {"s"}


@pytest.mark.parametrize("closed_ms", [2, 1])
def test_closed_not_after_opened_never_opened(closed_ms: int) -> None:
    outcome = run(message(1, 0), subscription("s", 2, closed_ms), message(2, 2))
    assert outcome.pairs == set()
    assert outcome.open == set()


def test_never_opened_does_not_close_or_refuse_another() -> None:
    rows = [subscription("s1", 2, 2), subscription("s2", 2)]
    outcome = run(*rows, duplicate_subscription="reject")
    assert outcome.open == {"s2"}
    assert outcome.refused_subscriptions == set()


def test_duplicate_subscription_reject_refuses_the_second() -> None:
    rows = [subscription("s1", 0), subscription("s2", 1, process_id="q"), subscription("s3", 1, name="m")]
    outcome = run(*rows, message(1, 2), duplicate_subscription="reject")
    assert outcome.refused_subscriptions == {"s2"}
    assert received(outcome, 1) == ["s1"]
    assert outcome.open == {"s3"}


def test_duplicate_subscription_reject_allows_it_after_the_first_took_a_message() -> None:
    rows = [message(1, 0), subscription("s1", 1), subscription("s2", 1)]
    outcome = run(*rows, duplicate_subscription="reject")
    assert outcome.open == {"s2"}
    assert outcome.refused_subscriptions == set()


def test_e1_the_earliest_stored_message_wins() -> None:
    outcome = run(message(9, 0), message(1, 1), subscription("s", 2))
    assert received(outcome, 9) == ["s"]
    assert received(outcome, 1) == []


def test_e2_e4_non_interrupting_takes_every_message() -> None:
    rows = [message(1, 0), subscription("s", 1, interrupting=False), message(2, 2), message(3, 2)]
    outcome = run(*rows)
    assert [received(outcome, p) for p in (1, 2, 3)] == [["s"], ["s"], ["s"]]
    assert outcome.open == {"s"}


def test_e3_non_interrupting_takes_all_stored_messages_on_opening() -> None:
    outcome = run(message(1, 0), message(2, 0), subscription("s", 1, interrupting=False))
    assert {pair[0] for pair in outcome.pairs} == {1, 2}
    assert set(outcome.decided_at.values()) == {at(1)}


def test_e3_after_a_publication_it_looks_for_stored_messages_too() -> None:
    """Message 2 waits behind p's lock, hidden from p's catch by start_only until the start row ends at 3."""
    rows = [
        start("p", None, 3),
        message(1, 0),
        subscription("s", 1, interrupting=False),
        message(2, 2),
        message(3, 4),
    ]
    outcome = run(*rows, start_precedence="start_only")
    assert received(outcome, 3) == ["s"]
    assert received(outcome, 2) == ["s"]
    assert outcome.verdicts[2] == ("correlated", "waiting_instance_later")
    assert outcome.decided_at[2] == at(4)


def test_e5_the_next_message_is_the_oldest_over_all_start_events() -> None:
    rows = [
        start("p"),
        start("p", name="m"),
        message(1, 0),
        message(2, 2),
        message(3, 1, name="m"),
        end("p", 3),
    ]
    outcome = run(*rows)
    assert received(outcome, 3) == ["p"]
    assert received(outcome, 2) == []

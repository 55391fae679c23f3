"""Publication and message ids (sections A and B of the rules).

Each test names the rule it pins, with what was derived from it by hand.
"""

from __future__ import annotations

import pytest

from .history import Row
from .told import KEY, TENANT, at, message, received, run, subscription


def test_a5_a_negative_ttl_is_tried_once_and_then_gone() -> None:
    outcome = run(message(1, 0, ttl_ms=-5), subscription("s", 1))
    assert outcome.verdicts == {1: ("discarded", "ttl_zero")}
    assert outcome.decided_at == {1: at(0)}
    assert outcome.open == {"s"}


def test_a6_position_orders_messages_of_one_instant() -> None:
    outcome = run(message(2, 0), message(1, 0), subscription("s", 1))
    assert outcome.pairs == {(1, "subscription", "p", "s", "e", at(1))}


def test_a6_time_comes_before_position() -> None:
    outcome = run(message(1, 1), message(2, 0), subscription("s", 2))
    assert received(outcome, 2) == ["s"]


def test_a8_a_missing_key_is_the_empty_key() -> None:
    outcome = run(message(1, 1, correlation_key=None), subscription("s", 0, correlation_key=""))
    assert received(outcome, 1) == ["s"]


def test_a9_a_missing_ttl_is_zero_in_zeebe() -> None:
    assert run(message(1, 0, ttl_ms=None)).verdicts[1] == ("discarded", "ttl_zero")


def test_a15_names_and_keys_are_compared_exactly() -> None:
    outcome = run(message(1, 1, name="N"), message(2, 1, correlation_key="k "), subscription("s", 0))
    assert outcome.pairs == set()


def test_b1_a_held_id_is_refused() -> None:
    outcome = run(message(1, 0, message_id="a"), message(2, 1, message_id="a"))
    assert outcome.verdicts == {1: ("buffered", "nobody_waits"), 2: ("refused", "duplicate_id")}
    assert outcome.ids == {(TENANT, "n", KEY, "a", at(10))}


@pytest.mark.parametrize("answer", ["refuse", "acknowledge"])
def test_b1_on_duplicate_changes_the_answer_and_not_the_verdict(answer: str) -> None:
    outcome = run(message(1, 0, message_id="a"), message(2, 0, message_id="a"), on_duplicate=answer)
    assert outcome.verdicts[2] == ("refused", "duplicate_id")


@pytest.mark.parametrize("other", [{"name": "m"}, {"correlation_key": "x"}, {"message_id": "b"}, {"tenant_id": "t"}])
def test_b2_b3_b4_b6_another_name_key_id_or_tenant_is_accepted(other: Row) -> None:
    second = message(2, 0, message_id="a") | other
    outcome = run(message(1, 0, message_id="a"), second)
    assert outcome.verdicts[2] == ("buffered", "nobody_waits")


@pytest.mark.parametrize("empty", ["", None])
def test_b5_an_empty_id_is_never_held(empty: str | None) -> None:
    outcome = run(message(1, 0, message_id=empty), message(2, 0, message_id=empty))
    assert outcome.verdicts[2] == ("buffered", "nobody_waits")
    assert outcome.ids == set()


def test_b7_a_correlated_message_still_holds_its_id() -> None:
    outcome = run(subscription("s", 0), message(1, 1, message_id="a"), message(2, 2, message_id="a"))
    assert outcome.verdicts[2] == ("refused", "duplicate_id")


def test_b8_ttl_zero_frees_the_id_in_the_same_step() -> None:
    outcome = run(message(1, 0, ttl_ms=0, message_id="a"), message(2, 0, message_id="a"))
    assert outcome.verdicts[2] == ("buffered", "nobody_waits")


def test_b9_stricter_the_id_is_free_exactly_at_the_deadline() -> None:
    rows = [
        message(1, 0, ttl_ms=3, message_id="a"),
        message(2, 2, message_id="a"),
        message(3, 3, message_id="a"),
    ]
    outcome = run(*rows)
    assert outcome.verdicts[2] == ("refused", "duplicate_id")
    assert outcome.verdicts[3] == ("buffered", "nobody_waits")
    assert outcome.ids == {(TENANT, "n", KEY, "a", at(13))}


def test_dedup_duration_counts_from_publication_beyond_the_ttl() -> None:
    rows = [message(p, t, ttl_ms=0, message_id="a") for p, t in [(1, 0), (2, 4), (3, 5)]]
    outcome = run(*rows, dedup="5ms")
    assert [outcome.verdicts[p][1] for p in (1, 2, 3)] == ["ttl_zero", "duplicate_id", "ttl_zero"]
    assert outcome.ids == {(TENANT, "n", KEY, "a", at(10))}


def test_dedup_duration_ends_before_a_longer_ttl() -> None:
    outcome = run(message(1, 0, message_id="a"), message(2, 1, message_id="a"), dedup="1ms")
    assert outcome.verdicts[2] == ("buffered", "nobody_waits")


def test_dedup_duration_holds_the_id_of_a_discarded_message() -> None:
    rows = [message(1, 0, message_id="a"), message(2, 1, message_id="a")]
    assert run(*rows, dedup="5ms", on_no_match="discard").verdicts[2] == ("refused", "duplicate_id")


def test_dedup_off_never_refuses() -> None:
    outcome = run(message(1, 0, message_id="a"), message(2, 0, message_id="a"), dedup="off")
    assert outcome.verdicts[2] == ("buffered", "nobody_waits")
    assert outcome.ids == set()


def test_dedup_while_buffered_needs_a_message_that_is_kept() -> None:
    rows = [
        subscription("s", 0, interrupting=False),
        message(1, 1, message_id="a"),
        message(2, 1, message_id="a"),
    ]
    outcome = run(*rows, on_no_match="reject")
    assert received(outcome, 2) == ["s"]
    assert outcome.ids == set()


def test_a_refused_message_holds_no_id() -> None:
    rows = [message(1, 0, message_id="a"), subscription("s", 1), message(2, 2, message_id="a")]
    outcome = run(*rows, dedup="7d", on_no_match="reject")
    assert outcome.verdicts == {1: ("refused", "not_found"), 2: ("correlated", "waiting_instance")}


def test_a_refused_duplicate_does_not_prolong_the_id() -> None:
    rows = [message(p, t, ttl_ms=3, message_id="a") for p, t in [(1, 0), (2, 2), (3, 3)]]
    assert run(*rows).verdicts[3] == ("expired", "nobody_waited")

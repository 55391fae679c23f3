"""The oracle against expectations derived by hand from the rules; each test names the rule it pins.

Times are milliseconds after the epoch, written small; `at` turns them into microseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from .history import TABLES, History, Row, generate, minimal, show
from .model import FOREVER, MS_US, Outcome, duration_ms, play, policy_of

KEY = "k"
TENANT = "<default>"


def at(time_ms: int) -> int:
    return time_ms * MS_US


def message(position: int, time_ms: int, ttl_ms: int | None = 10, **columns: Any) -> Row:
    row = {
        "position": position,
        "name": "n",
        "correlation_key": KEY,
        "published_at": at(time_ms),
        "ttl_ms": ttl_ms,
    }
    return row | columns


def subscription(subscription_id: str, opened_ms: int, closed_ms: int | None = None, **columns: Any) -> Row:
    row = {
        "subscription_id": subscription_id,
        "process_id": "p",
        "instance_id": f"i-{subscription_id}",
        "element_id": "e",
        "name": "n",
        "correlation_key": KEY,
        "opened_at": at(opened_ms),
        "closed_at": None if closed_ms is None else at(closed_ms),
    }
    return row | columns


def start(process_id: str, from_ms: int | None = None, until_ms: int | None = None, **columns: Any) -> Row:
    row = {
        "process_id": process_id,
        "name": "n",
        "element_id": "start",
        "from_at": None if from_ms is None else at(from_ms),
        "until_at": None if until_ms is None else at(until_ms),
    }
    return row | columns


def end(process_id: str, time_ms: int, **columns: Any) -> Row:
    return {"process_id": process_id, "correlation_key": KEY, "ended_at": at(time_ms)} | columns


def run(*rows: Row, profile: str = "zeebe", as_of: int | None = 9, **overrides: Any) -> Outcome:
    """Rows of any table, told apart by their columns; overrides are policies for all names; `as_of` in ms."""
    history = History(profile=profile, as_of=None if as_of is None else at(as_of))
    history.policies = {"*": overrides} if overrides else {}
    for row in rows:
        table_of(history, row).append(row)
    return play(history)


def table_of(history: History, row: Row) -> list[Row]:
    if "position" in row:
        return history.messages
    if "subscription_id" in row:
        return history.subscriptions
    return history.ends if "ended_at" in row else history.starts


def received(outcome: Outcome, position: int) -> list[str]:
    """Who has the message: subscription ids, and process ids of starts, sorted."""
    return sorted(pair[3] or pair[2] for pair in outcome.pairs if pair[0] == position)


def lock(process_id: str, tenant: str = TENANT, key: str = KEY) -> tuple[str, str, str]:
    return (tenant, process_id, key)


# A: publication


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


# B: message ids


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


# C: opening, closing, and the order inside one instant


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


# D: correlation and cardinality


def test_d1_subscription_first() -> None:
    outcome = run(subscription("s", 0), message(1, 1))
    assert outcome.verdicts[1] == ("correlated", "waiting_instance")
    assert outcome.decided_at[1] == at(1)
    assert outcome.open == set()


def test_d2_message_first() -> None:
    outcome = run(message(1, 0), subscription("s", 1))
    assert outcome.verdicts[1] == ("correlated", "waiting_instance_later")
    assert outcome.decided_at[1] == at(1)
    assert outcome.pairs == {(1, "subscription", "p", "s", "e", at(1))}


def test_d3_ttl_zero_meets_an_open_subscription() -> None:
    outcome = run(subscription("s", 0), message(1, 1, ttl_ms=0))
    assert outcome.verdicts[1] == ("correlated", "waiting_instance")
    assert outcome.buffered == {}


def test_d4_ttl_zero_is_not_there_for_a_later_subscription() -> None:
    outcome = run(message(1, 0, ttl_ms=0), subscription("s", 0), subscription("t", 1), as_of=None)
    assert received(outcome, 1) == ["s"]
    assert outcome.open == {"t"}


def test_d6_one_instance_of_each_process() -> None:
    outcome = run(subscription("s", 0), subscription("t", 0, process_id="q"), message(1, 1))
    assert received(outcome, 1) == ["s", "t"]
    assert outcome.buffered == {1: ["p", "q"]}


def test_d7_once_per_process_the_first_opened_first() -> None:
    outcome = run(subscription("s2", 0), subscription("s1", 1), message(1, 2), message(2, 3))
    assert received(outcome, 1) == ["s2"]
    assert received(outcome, 2) == ["s1"]


def test_d9_d11_the_second_message_waits_for_the_second_catch() -> None:
    outcome = run(subscription("s", 0), message(1, 1), message(2, 2), subscription("t", 3))
    assert received(outcome, 1) == ["s"]
    assert received(outcome, 2) == ["t"]


def test_d10_parallel_catches_of_one_instance_take_one_message_each() -> None:
    rows = [subscription("s1", 0, instance_id="i"), subscription("s2", 0, instance_id="i")]
    outcome = run(*rows, message(1, 1))
    assert received(outcome, 1) == ["s1"]
    assert outcome.open == {"s2"}


def test_d13_a_catch_hides_the_start_of_its_process() -> None:
    outcome = run(start("p"), subscription("s", 0), message(1, 1))
    assert received(outcome, 1) == ["s"]
    assert outcome.locks == {}


def test_d14_the_starting_message_is_not_offered_to_its_process() -> None:
    outcome = run(start("p"), message(1, 0), subscription("s", 1), message(2, 2))
    assert received(outcome, 1) == ["p"]
    assert received(outcome, 2) == ["s"]


def test_d15_a_catch_and_the_start_of_another_process_both_receive() -> None:
    outcome = run(start("q"), subscription("s", 0), message(1, 1))
    assert received(outcome, 1) == ["q", "s"]
    assert outcome.verdicts[1] == ("correlated", "waiting_instance")


def test_d16_a_correlated_message_stays_for_other_processes() -> None:
    outcome = run(subscription("s", 0), message(1, 1), subscription("t", 2, process_id="q"))
    assert received(outcome, 1) == ["s", "t"]
    assert outcome.decided_at[1] == at(1)


def test_d16_the_mark_keeps_it_from_the_same_process() -> None:
    outcome = run(subscription("s", 0), message(1, 1), subscription("t", 2))
    assert received(outcome, 1) == ["s"]
    assert outcome.open == {"t"}


# U: the other cardinalities


def test_u3_once_per_instance_serves_each_instance_once() -> None:
    rows = [subscription(s, 0, instance_id=i) for s, i in [("s1", "i"), ("s2", "i"), ("s3", "j")]]
    outcome = run(*rows, message(1, 1), cardinality="once_per_instance")
    assert received(outcome, 1) == ["s1", "s3"]


def test_u3_once_per_instance_marks_the_instance_of_its_process() -> None:
    later = [subscription(s, 2, instance_id=i, process_id=p) for s, i, p in [("a", "i", "p"), ("b", "i", "q")]]
    outcome = run(subscription("s", 0, instance_id="i"), message(1, 1), *later, cardinality="once_per_instance")
    assert received(outcome, 1) == ["b", "s"]


def test_u3_once_per_instance_a_start_does_not_mark_other_instances() -> None:
    outcome = run(start("p"), message(1, 0), subscription("s", 1), cardinality="once_per_instance")
    assert received(outcome, 1) == ["p", "s"]


def test_u3_all_serves_every_subscription_and_later_ones() -> None:
    rows = [
        subscription("s1", 0, instance_id="i"),
        subscription("s2", 0, instance_id="i"),
        subscription("s3", 2),
    ]
    assert received(run(*rows, message(1, 1), cardinality="all"), 1) == ["s1", "s2", "s3"]


@pytest.mark.parametrize("cardinality", ["once_per_instance", "all"])
def test_d13_a_catch_hides_the_start_whatever_the_cardinality(cardinality: str) -> None:
    outcome = run(start("p"), subscription("s", 0), message(1, 1), cardinality=cardinality)
    assert received(outcome, 1) == ["s"]


def test_exactly_one_candidate_takes_it() -> None:
    outcome = run(subscription("s", 0), message(1, 1), subscription("t", 2, process_id="q"), cardinality="exactly_one")
    assert received(outcome, 1) == ["s"]
    assert outcome.open == {"t"}
    assert outcome.buffered == {1: ["p"]}


def test_exactly_one_refuses_several_candidates_and_keeps_nothing() -> None:
    rows = [subscription("s", 0), subscription("t", 0), message(1, 1, message_id="a")]
    outcome = run(*rows, cardinality="exactly_one")
    assert outcome.verdicts[1] == ("refused", "ambiguous")
    assert outcome.buffered == {}
    assert outcome.ids == set()
    assert outcome.open == {"s", "t"}


def test_exactly_one_counts_starts_of_other_processes() -> None:
    outcome = run(subscription("s", 0), start("q"), message(1, 1), cardinality="exactly_one")
    assert outcome.verdicts[1] == ("refused", "ambiguous")


def test_exactly_one_does_not_count_starts_that_give_way_to_a_subscription() -> None:
    outcome = run(subscription("s", 0), start("q"), message(1, 1), profile="fleans")
    assert received(outcome, 1) == ["s"]


def test_u4_exactly_one_a_subscription_hides_the_start_of_its_process() -> None:
    outcome = run(subscription("s", 0), start("p"), message(1, 1), cardinality="exactly_one")
    assert received(outcome, 1) == ["s"]


def test_exactly_one_does_not_count_a_locked_start() -> None:
    rows = [start("q"), message(1, 0), subscription("s", 1), message(2, 2)]
    outcome = run(*rows, cardinality="exactly_one")
    assert received(outcome, 1) == ["q"]
    assert received(outcome, 2) == ["s"]


# E: order and non-interrupting subscriptions


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


# F: deadlines


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


# G: starts and locks


def test_g3_g12_a_start_takes_the_lock_and_the_next_message_waits() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1))
    assert outcome.pairs == {(1, "start", "p", None, "start", at(0))}
    assert outcome.verdicts == {1: ("correlated", "started_instance"), 2: ("buffered", "locked")}
    assert outcome.locks == {lock("p"): 1}
    assert outcome.buffered == {1: ["p"], 2: []}


def test_g7_g21_the_latest_valid_version_is_started() -> None:
    rows = [start("p", None, element_id="v1"), start("p", 3, element_id="v2")]
    outcome = run(*rows, message(1, 2), message(2, 3), start_uniqueness="none")
    assert {(pair[0], pair[4]) for pair in outcome.pairs} == {(1, "v1"), (2, "v2")}


def test_g7_the_highest_element_breaks_a_tie_of_versions() -> None:
    outcome = run(start("p", 0, element_id="b"), start("p", 0, element_id="a"), message(1, 1))
    assert {pair[4] for pair in outcome.pairs} == {"b"}


@pytest.mark.parametrize(("time_ms", "started"), [(1, False), (2, True), (3, True), (4, False)])
def test_g9_a_start_is_valid_from_and_no_longer_at_its_end(time_ms: int, started: bool) -> None:
    assert bool(run(start("p", 2, 4), message(1, time_ms)).pairs) is started


def test_g13_another_key_starts_at_once() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 0, correlation_key="x"))
    assert outcome.locks == {lock("p"): 1, lock("p", key="x"): 2}


def test_g14_the_empty_key_never_locks() -> None:
    rows = [message(1, 0, correlation_key=""), message(2, 0, correlation_key=None)]
    outcome = run(start("p"), *rows, end("p", 1, correlation_key=""))
    assert len(outcome.pairs) == 2
    assert outcome.locks == {}
    assert outcome.ends_ignored == 1


def test_g15_the_lock_spans_versions() -> None:
    outcome = run(start("p", None, 2), start("p", 2, element_id="v2"), message(1, 0), message(2, 3))
    assert outcome.verdicts[2] == ("buffered", "locked")


def test_g16_the_lock_spans_all_start_events_of_the_process() -> None:
    outcome = run(start("p"), start("p", name="m"), message(1, 0), message(2, 1, name="m"))
    assert outcome.verdicts[2] == ("buffered", "locked")


def test_g17_the_lock_is_per_process() -> None:
    outcome = run(start("p"), start("q", 1), message(1, 0), message(2, 1))
    assert received(outcome, 2) == ["q"]
    assert outcome.locks == {lock("p"): 1, lock("q"): 2}


def test_g18_an_end_frees_the_lock() -> None:
    outcome = run(start("p"), message(1, 0), end("p", 1), message(2, 2))
    assert outcome.verdicts[2] == ("correlated", "started_instance")
    assert outcome.locks == {lock("p"): 2}


def test_g18_an_end_with_nothing_behind_it_leaves_no_lock() -> None:
    outcome = run(start("p"), message(1, 0), end("p", 1))
    assert outcome.locks == {}
    assert outcome.ends_ignored == 0


def test_g20_messages_behind_the_lock_start_one_by_one() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1), message(3, 1), end("p", 2), end("p", 3))
    assert outcome.decided_at == {1: at(0), 2: at(2), 3: at(3)}
    assert outcome.verdicts[3] == ("correlated", "started_after_lock")
    assert outcome.locks == {lock("p"): 3}


def test_g20_two_ends_at_one_instant_start_two() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1), message(3, 1), end("p", 2), end("p", 2))
    assert outcome.decided_at[3] == at(2)
    assert outcome.locks == {lock("p"): 3}


def test_g20_an_end_without_a_lock_is_ignored_and_counted() -> None:
    rows = [end("p", 1), end("q", 1), end("p", 1, tenant_id="t")]
    outcome = run(start("p"), message(1, 0), *rows)
    assert outcome.ends_ignored == 2
    assert outcome.locks == {}


def test_g21_pick_up_needs_a_start_valid_at_that_time() -> None:
    outcome = run(start("p", None, 2), message(1, 0), message(2, 1), end("p", 2))
    assert received(outcome, 2) == []
    assert outcome.locks == {}


def test_g22_a_message_past_its_deadline_is_skipped_at_pick_up() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1, ttl_ms=1), message(3, 1), end("p", 2))
    assert received(outcome, 3) == ["p"]
    assert outcome.verdicts[2] == ("expired", "was_locked")


def test_g25_a_new_start_does_not_take_old_messages() -> None:
    assert run(message(1, 0), start("p", 1)).verdicts[1] == ("buffered", "nobody_waits")


def test_g25_an_end_may_take_messages_older_than_the_start() -> None:
    outcome = run(message(1, 0), start("p", 1), message(2, 2), end("p", 3))
    assert outcome.verdicts == {
        1: ("correlated", "started_after_lock"),
        2: ("correlated", "started_instance"),
    }


def test_g29_a_catch_opened_later_may_take_a_message_behind_the_lock() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1), subscription("s", 2), end("p", 3))
    assert received(outcome, 2) == ["s"]
    assert outcome.locks == {}


def test_g31_stricter_the_lock_knows_the_tenant() -> None:
    outcome = run(start("p"), start("p", tenant_id="t"), message(1, 0), message(2, 0, tenant_id="t"))
    assert outcome.locks == {lock("p"): 1, lock("p", tenant="t"): 2}


def test_g33_reject_names_the_lock() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1), on_no_match="reject")
    assert outcome.verdicts[2] == ("refused", "locked")
    assert outcome.decided_at[2] == at(1)


def test_start_uniqueness_none_takes_no_lock() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 0), end("p", 1), start_uniqueness="none")
    assert len(outcome.pairs) == 2
    assert outcome.locks == {}
    assert outcome.ends_ignored == 1


def test_start_uniqueness_none_is_picked_up_after_an_end_and_takes_no_lock() -> None:
    """Message 1 (none) comes before its start row; message 2 (per_key, name m) holds the lock."""
    history = History(
        messages=[message(1, 0), message(2, 1, name="m")],
        starts=[start("p", 1), start("p", name="m")],
        ends=[end("p", 2)],
        policies={"n": {"start_uniqueness": "none"}},
    )
    outcome = play(history)
    assert outcome.verdicts[1] == ("correlated", "started_after_lock")
    assert outcome.locks == {}


def test_pick_up_under_exactly_one_needs_a_message_nobody_has() -> None:
    rows = [start("p"), message(1, 0), message(2, 1), subscription("s", 2, process_id="q"), end("p", 3)]
    outcome = run(*rows, cardinality="exactly_one")
    assert received(outcome, 2) == ["s"]
    assert outcome.locks == {}


def test_subscription_first_starts_nothing_from_a_freed_lock_that_a_subscription_has() -> None:
    rows = [start("p"), message(1, 0), subscription("s", 1, process_id="q", business_id="b")]
    rows[1]["business_id"] = "x"
    outcome = run(*rows, message(2, 2, business_id="b"), end("p", 3), start_precedence="subscription_first")
    assert received(outcome, 1) == ["p"]
    assert received(outcome, 2) == ["s"]
    assert outcome.verdicts[2] == ("correlated", "waiting_instance")
    assert outcome.locks == {}


def test_start_uniqueness_none_does_not_ask_for_a_lock_of_another_name() -> None:
    history = History(
        messages=[message(1, 0, name="m"), message(2, 1)],
        starts=[start("p", name="m"), start("p")],
        policies={"n": {"start_uniqueness": "none"}},
    )
    outcome = play(history)
    assert outcome.verdicts[2] == ("correlated", "started_instance")
    assert outcome.locks == {lock("p"): 1}


# Start precedence


def test_start_precedence_subscription_first_starts_nothing_beside_a_catch() -> None:
    outcome = run(start("q"), subscription("s", 0), message(1, 1), start_precedence="subscription_first")
    assert received(outcome, 1) == ["s"]


def test_start_precedence_subscription_first_starts_without_a_catch() -> None:
    outcome = run(start("q"), message(1, 1), start_precedence="subscription_first")
    assert received(outcome, 1) == ["q"]


def test_start_precedence_start_only_hides_the_catch_of_a_startable_process() -> None:
    rows = [start("p"), subscription("s", 0), subscription("t", 0, process_id="q"), message(1, 1)]
    outcome = run(*rows, start_precedence="start_only")
    assert received(outcome, 1) == ["p", "t"]
    assert outcome.open == {"s"}


def test_start_precedence_start_only_holds_for_later_openings() -> None:
    rows = [start("p"), message(1, 0), message(2, 1), subscription("s", 2)]
    outcome = run(*rows, start_precedence="start_only")
    assert received(outcome, 2) == []
    assert outcome.open == {"s"}


def test_start_precedence_start_only_asks_for_a_start_valid_now() -> None:
    rows = [start("p", 3), message(1, 0), subscription("s", 1)]
    assert received(run(*rows, start_precedence="start_only"), 1) == ["s"]


# Nobody took it


@pytest.mark.parametrize(
    ("on_no_match", "ttl_ms", "verdict"),
    [
        ("buffer", 10, ("buffered", "nobody_waits")),
        ("retry", 10, ("buffered", "nobody_waits")),
        ("retry", 0, ("discarded", "ttl_zero")),
        ("reject", 10, ("refused", "not_found")),
        ("discard", 10, ("discarded", "policy")),
        ("discard", 0, ("discarded", "policy")),
    ],
)
def test_on_no_match(on_no_match: str, ttl_ms: int, verdict: tuple[str, str]) -> None:
    outcome = run(message(1, 0, ttl_ms=ttl_ms), subscription("s", 1), on_no_match=on_no_match, as_of=0)
    assert outcome.verdicts[1] == verdict


@pytest.mark.parametrize("on_no_match", ["reject", "discard"])
def test_on_no_match_reject_and_discard_keep_nothing_even_with_takers(on_no_match: str) -> None:
    rows = [subscription("s", 0), message(1, 1), subscription("t", 2, process_id="q")]
    outcome = run(*rows, on_no_match=on_no_match)
    assert received(outcome, 1) == ["s"]
    assert outcome.buffered == {}


def test_o2_fleans_refuses_what_nobody_waits_for() -> None:
    outcome = run(message(1, 0), subscription("s", 1), profile="fleans")
    assert outcome.verdicts[1] == ("refused", "not_found")
    assert outcome.open == {"s"}


def test_correlate_keeps_a_message_without_end() -> None:
    outcome = run(message(1, 0, ttl_ms=None), subscription("s", 8), profile="correlate")
    assert outcome.verdicts[1] == ("correlated", "waiting_instance_later")
    assert outcome.buffered == {1: ["p"]}


def test_policies_of_a_name_go_over_those_of_all_names() -> None:
    history = History(policies={"*": {"cardinality": "all", "dedup": "off"}, "n": {"cardinality": "exactly_one"}})
    policy = policy_of(history, "n")
    assert (policy["cardinality"], policy["dedup"], policy["on_no_match"]) == ("exactly_one", "off", "buffer")


@pytest.mark.parametrize(
    ("text", "expected"),
    [("5ms", 5), ("2s", 2_000), ("3m", 180_000), ("7d", 604_800_000), (0, 0), ("none", None)],
)
def test_durations(text: str | int, expected: int | None) -> None:
    assert duration_ms(text) == expected


# P and Q: tenants and business ids


def test_p1_p2_a_message_stays_in_its_tenant() -> None:
    rows = [
        message(1, 0, tenant_id="a"),
        subscription("s", 1, tenant_id="b"),
        subscription("t", 1, tenant_id="a"),
    ]
    assert received(run(*rows), 1) == ["t"]


def test_p4_a_missing_tenant_is_the_default_one() -> None:
    assert received(run(message(1, 1, tenant_id=TENANT), subscription("s", 0)), 1) == ["s"]


def test_p1_a_start_of_another_tenant_is_not_made() -> None:
    assert run(start("p", tenant_id="t"), message(1, 0)).pairs == set()


def test_q1_a_message_without_business_id_fits_all() -> None:
    assert received(run(subscription("s", 0, business_id="b"), message(1, 1)), 1) == ["s"]


def test_q2_a_message_with_business_id_fits_only_the_same() -> None:
    rows = [subscription(s, t, business_id=b) for s, t, b in [("s1", 0, None), ("s2", 0, "c"), ("s3", 1, "b")]]
    assert received(run(*rows, message(1, 2, business_id="b")), 1) == ["s3"]


def test_q4_q5_the_same_holds_for_stored_messages() -> None:
    rows = [
        message(1, 0, business_id="b"),
        message(2, 1),
        subscription("s1", 2),
        subscription("s2", 3, business_id="b"),
    ]
    outcome = run(*rows)
    assert received(outcome, 2) == ["s1"]
    assert received(outcome, 1) == ["s2"]


def test_q7_a_start_does_not_ask_for_the_business_id() -> None:
    assert received(run(start("p"), message(1, 0, business_id="b")), 1) == ["p"]


# Verdicts


def test_expected_short_at_the_deadline_wins_over_correlated() -> None:
    outcome = run(subscription("s", 0), message(1, 1, ttl_ms=3), expected=2)
    assert outcome.verdicts[1] == ("short", "fewer_than_expected")
    assert outcome.decided_at[1] == at(4)
    assert received(outcome, 1) == ["s"]


def test_expected_is_not_short_before_the_deadline() -> None:
    assert run(subscription("s", 0), message(1, 1), expected=2).verdicts[1] == (
        "correlated",
        "waiting_instance",
    )


def test_expected_met_by_a_later_taker() -> None:
    rows = [subscription("s", 0), message(1, 1, ttl_ms=3), subscription("t", 3, process_id="q")]
    assert run(*rows, expected=2).verdicts[1] == ("correlated", "waiting_instance")


def test_expected_counts_starts() -> None:
    outcome = run(start("q"), subscription("s", 0), message(1, 1, ttl_ms=0), expected=2)
    assert outcome.verdicts[1] == ("correlated", "waiting_instance")


@pytest.mark.parametrize(("ttl_ms", "on_no_match"), [(0, "buffer"), (10, "discard")])
def test_expected_short_at_once_if_not_kept(ttl_ms: int, on_no_match: str) -> None:
    outcome = run(message(1, 1, ttl_ms=ttl_ms), expected=1, on_no_match=on_no_match)
    assert outcome.verdicts[1] == ("short", "fewer_than_expected")
    assert outcome.decided_at[1] == at(1)


def test_expected_short_under_reject_only_if_accepted() -> None:
    outcome = run(message(1, 0), subscription("s", 1), message(2, 2), expected=2, on_no_match="reject")
    assert outcome.verdicts == {1: ("refused", "not_found"), 2: ("short", "fewer_than_expected")}


def test_buffered_is_locked_as_seen_at_as_of() -> None:
    """The start row of q, whose lock message 2 holds through name m, comes into force after publication."""
    rows = [start("q", name="m"), start("q", 3), message(1, 0), message(2, 1, name="m")]
    assert run(*rows, as_of=2).verdicts[1] == ("buffered", "nobody_waits")
    assert run(*rows, as_of=3).verdicts[1] == ("buffered", "locked")


def test_expired_was_locked_is_seen_before_the_events_of_the_deadline() -> None:
    outcome = run(start("p"), message(1, 0), message(2, 1, ttl_ms=2), end("p", 3))
    assert outcome.verdicts[2] == ("expired", "was_locked")
    assert outcome.decided_at[2] == at(3)
    assert outcome.locks == {}


@pytest.mark.parametrize(("until_ms", "reason"), [(2, "nobody_waited"), (3, "was_locked")])
def test_expired_was_locked_asks_for_a_start_valid_to_the_last(until_ms: int, reason: str) -> None:
    outcome = run(start("p", None, until_ms), message(1, 0), message(2, 1, ttl_ms=2))
    assert outcome.verdicts[2] == ("expired", reason)


@pytest.mark.parametrize(
    ("from_ms", "until_ms", "reason"),
    [
        (1, None, "never_offered"),
        (3, None, "nobody_waited"),
        (1, 2, "nobody_waited"),
        (1, 3, "never_offered"),
    ],
)
def test_g25_expired_never_offered(from_ms: int, until_ms: int | None, reason: str) -> None:
    outcome = run(message(1, 0, ttl_ms=3), start("p", from_ms, until_ms))
    assert outcome.verdicts[1] == ("expired", reason)


# as_of and later rows


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


# The generator, the shrinker, and what must hold for every history

SEEDS = range(2_000)
REASONS = {
    *(("correlated", r) for r in ("waiting_instance", "waiting_instance_later")),
    *(("correlated", r) for r in ("started_instance", "started_after_lock")),
    *(("buffered", r) for r in ("nobody_waits", "locked")),
    *(("expired", r) for r in ("nobody_waited", "was_locked", "never_offered")),
    *(("discarded", r) for r in ("ttl_zero", "policy")),
    *(("refused", r) for r in ("duplicate_id", "not_found", "ambiguous", "locked")),
    ("short", "fewer_than_expected"),
}


@pytest.fixture(scope="module")
def played() -> list[tuple[History, Outcome]]:
    return [(history, play(history)) for history in map(generate, SEEDS)]


def test_the_random_histories_reach_every_reason(played: list[tuple[History, Outcome]]) -> None:
    counts = Counter(verdict for _, outcome in played for verdict in outcome.verdicts.values())
    assert set(counts) == REASONS
    assert min(counts.values()) >= 10, counts


def test_every_message_is_judged_or_later(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played:
        later = {which for table, which in outcome.later if table == "messages"}
        assert set(outcome.verdicts) | later == {row["position"] for row in history.messages}, show(history)
        assert set(outcome.decided_at) == set(outcome.verdicts)


def test_an_interrupting_subscription_takes_at_most_one(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played:
        taken = Counter(pair[3] for pair in outcome.pairs if pair[3])
        for row in history.subscriptions:
            if row["interrupting"] is not False:
                assert taken[row["subscription_id"]] <= 1, show(history)


def test_d7_no_process_takes_a_message_twice_in_plain_zeebe(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played:
        if not history.policies and history.profile == "zeebe":
            takes = Counter((pair[0], pair[2]) for pair in outcome.pairs)
            assert set(takes.values()) <= {1}, show(history)


def test_the_order_of_the_rows_does_not_matter(played: list[tuple[History, Outcome]]) -> None:
    for history, outcome in played[:300]:
        turned = replace(history, **{table: getattr(history, table)[::-1] for table in TABLES})
        other = play(turned)
        other.later = {(t, len(history.ends) - 1 - int(w)) if t == "ends" else (t, w) for t, w in other.later}
        assert other == outcome, show(history)


def test_correlation_keys_are_independent(played: list[tuple[History, Outcome]]) -> None:
    """E7: what happens on one key is the same when the others are taken away."""
    for history, outcome in played[:300]:
        for key, part in by_key(history, outcome):
            alone = play(part)
            assert alone.verdicts == {p: outcome.verdicts[p] for p in alone.verdicts}, (key, show(history))
            assert alone.pairs == {pair for pair in outcome.pairs if pair[0] in alone.verdicts}


def by_key(history: History, outcome: Outcome) -> Iterator[tuple[str, History]]:
    for key in sorted({row["correlation_key"] or "" for row in history.messages}):
        tables: dict[str, Any] = {
            table: [row for row in getattr(history, table) if (row["correlation_key"] or "") == key]
            for table in ("messages", "subscriptions", "ends")
        }
        yield key, replace(history, as_of=whole_as_of(history), **tables)


def whole_as_of(history: History) -> int:
    if history.as_of is not None:
        return history.as_of
    columns = ("published_at", "opened_at", "closed_at", "ended_at")
    rows = history.messages + history.subscriptions + history.ends
    return max(int(row[column]) for row in rows for column in columns if row.get(column) is not None)


def test_generate_is_reproducible() -> None:
    assert generate(7) == generate(7)
    assert generate(7) != generate(8)


def test_a_key_prefix_changes_only_the_keys() -> None:
    for seed in range(200):
        one, two = generate(seed, "a/"), generate(seed, "b/")
        keys = [row["correlation_key"] for row in one.messages + one.subscriptions + one.ends]
        assert all(key.startswith("a/") for key in keys)
        assert play(one).verdicts == play(two).verdicts
        assert (one.starts, one.policies, one.as_of) == (two.starts, two.policies, two.as_of)


def test_minimal_keeps_only_the_rows_that_matter() -> None:
    def someone_starts_after_a_lock(history: History) -> bool:
        return ("correlated", "started_after_lock") in play(history).verdicts.values()

    seed = next(seed for seed in SEEDS if someone_starts_after_a_lock(generate(seed)))
    small = minimal(generate(seed), someone_starts_after_a_lock)
    assert someone_starts_after_a_lock(small)
    assert len(small.messages) == 2
    assert len(small.ends) == 1
    assert not small.subscriptions
    assert len(small.starts) <= 2


def test_show_lists_every_row() -> None:
    history = generate(3)
    text = show(history)
    rows = sum(len(getattr(history, table)) for table in TABLES)
    assert f"seed {history.seed}" in text
    assert len(text.splitlines()) == 1 + len(history.policies) + len(TABLES) + rows

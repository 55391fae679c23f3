"""Starts and their locks (G), and which goes first, a start or a subscription.

Each test names the rule it pins, with what was derived from it by hand.
"""

from __future__ import annotations

import pytest

from .history import History
from .model import play
from .told import at, end, lock, message, received, run, start, subscription


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

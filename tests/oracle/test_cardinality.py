"""Correlation, and who receives one message (D and the other cardinalities).

Each test names the rule it pins, with what was derived from it by hand.
"""

from __future__ import annotations

import pytest

from .told import at, message, received, run, start, subscription


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

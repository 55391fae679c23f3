"""What nobody took, tenants and business ids (P, Q), and the verdicts.

Each test names the rule it pins, with what was derived from it by hand.
"""

from __future__ import annotations

import pytest

from .facts import duration_ms, policy_of
from .history import History
from .told import TENANT, at, end, message, received, run, start, subscription


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

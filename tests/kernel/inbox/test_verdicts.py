"""Verdicts of inbox messages, and the history of their attempts."""

from typing import Any

import pytest

from conjoin.kernel.inbox import InboxMessage, book, verdict_of
from conjoin.kernel.inbox.message import FAULTS, Ending, Fault
from conjoin.kernel.inbox.outcomes import (
    Delivered,
    Expired,
    Failed,
    Outcome,
    Unanswered,
    attempt_line,
    cut_text,
)
from conjoin.kernel.inbox.verdicts import REASONS
from conjoin.kernel.verdicts import verdicts as correlation
from conjoin.kernel.verdicts.sentences import sentence
from tests.kernel.inbox.simulator import S, make, preset

NOW = 1_000 * S
ERROR = Fault("target_error", "no")
FAILED = make(attempts=2, tried_at=900 * S, next_retry_at=NOW + 1, error=ERROR)


@pytest.mark.parametrize(
    ("message", "verdict", "reason"),
    [
        (make(), "waiting", "not_due"),
        (FAILED, "waiting", "in_backoff"),
        (FAILED._replace(next_retry_at=NOW), "waiting", "not_due"),
        (make(next_retry_at=NOW + 1), "waiting", "not_due"),
        (make(tried_at=1, grace_until=NOW + 1), "waiting", "in_grace"),
        (make(tried_at=1, grace_until=NOW), "waiting", "not_due"),
        (make(grace_until=NOW + 1), "waiting", "not_due"),
        (FAILED._replace(state="paused"), "waiting", "paused"),
        (make(state="uncertain", tried_at=1), "waiting", "not_due"),
        (FAILED._replace(state="parked", parked_for="attempts_exhausted"), "parked", "attempts_exhausted"),
        (FAILED._replace(state="parked", parked_for="held"), "parked", "held"),
        (make(expires_at=NOW), "expired", "never_offered"),
        (FAILED._replace(expires_at=NOW), "expired", "nobody_waited"),
        (make(state="expired", ending=Ending("expired", "nobody_waited", 5)), "expired", "nobody_waited"),
        (make(state="deleted", ending=Ending("discarded", "deleted", 5)), "discarded", "deleted"),
        (make(state="done", ending=Ending("correlated", "started_instance", 5)), "correlated", "started_instance"),
    ],
)
def test_every_message_has_one_verdict_and_a_reason(message: InboxMessage, verdict: str, reason: str) -> None:
    assert verdict_of(message, NOW)[:2] == (verdict, reason)


def test_the_parameters_are_those_that_a_sentence_is_made_of() -> None:
    waiting, parked = verdict_of(FAILED, NOW), verdict_of(FAILED._replace(state="parked", parked_for="held"), NOW)
    assert waiting.detail == {"attempt": 2, "error": "no", "next_retry_at": NOW + 1}
    assert parked.detail == {"attempts": 2, "last_error": "no"}
    assert sentence(*waiting, "paid", "k").endswith(f"(attempt 2): no; tried again at {NOW + 1}.")
    assert sentence(*parked, "paid", "k").endswith("after 2 attempts: no.")


def test_what_has_ended_tells_its_target_or_its_deadline() -> None:
    done = make(state="done", ending=Ending("correlated", "waiting_instance", 5, "i-7"))
    assert verdict_of(done, NOW).detail == {"target": "i-7"}
    over = book(make(expires_at=9), Expired(), NOW, preset())
    assert verdict_of(over, NOW).detail == {"attempts": 0, "deadline_at": 9}
    said = sentence(*verdict_of(over, NOW), "paid", "k")
    assert said == "Expired: 'paid' with key 'k' was never tried until its deadline 9."


@pytest.mark.parametrize(
    ("ending", "target", "said"),
    [
        (Ending("correlated", "handed_over", 5), "erp", "was handed over to erp, which does not say who took it."),
        (Ending("correlated", "handed_over", 5, "77"), "erp", "was handed over to erp, where 77 has it."),
        (
            Ending("buffered", "handed_over", 5, "77"),
            "erp",
            "to erp and is kept there as 77, for whoever",
        ),
        (
            Ending("buffered", "handed_over", 5, "message 7"),
            "",
            "to our own engine and is kept there as message 7",
        ),
    ],
)
def test_what_was_handed_over_says_to_whom(ending: Ending, target: str, said: str) -> None:
    message = make(state="done", ending=ending, target=target)
    assert said in sentence(*verdict_of(message, NOW), "paid", "k")


def test_the_reasons_are_those_of_the_closed_list() -> None:
    ours = {(verdict, reason) for verdict, reasons in REASONS.items() for reason in reasons}
    known = {(verdict, reason) for verdict, reasons in correlation.REASONS.items() for reason in reasons}
    assert ours <= known


def line(message: InboxMessage, outcome: Outcome, **changes: Any) -> tuple[str, ...] | None:
    settings = preset(**changes)
    return attempt_line(book(message, outcome, NOW, settings), outcome, "POST /message", NOW, settings)


@pytest.mark.parametrize("kind", FAULTS)
def test_an_attempt_that_failed_leaves_a_line(kind: str) -> None:
    assert line(FAILED, Failed(kind, "HTTP 500")) == ("failed", kind, "POST /message", "HTTP 500")


def test_an_attempt_that_was_taken_leaves_a_line_with_who_took_it() -> None:
    expected = ("correlated", "waiting_instance", "POST /message", "i-7")
    assert line(FAILED, Delivered(target="i-7")) == expected


@pytest.mark.parametrize("on_uncertain", ["retry", "hold"])
def test_a_call_without_an_answer_leaves_a_line(on_uncertain: str) -> None:
    noted = line(make(state="uncertain"), Unanswered("connection lost"), on_uncertain=on_uncertain)
    assert noted == ("failed", "target_error", "POST /message", "connection lost")


@pytest.mark.parametrize(
    ("message", "outcome"), [(make(grace_until=NOW + 1), Failed("decode_error", "no")), (make(expires_at=1), Expired())]
)
def test_an_error_in_the_grace_time_and_an_expiration_leave_no_line(message: InboxMessage, outcome: Outcome) -> None:
    assert line(message, outcome) is None


def test_a_line_is_cut_like_an_error() -> None:
    noted = line(make(), Failed("target_error", "x" * 99), error_text_max=7)
    assert noted is not None
    assert noted[2:] == ("POST /m", "x" * 7)


def test_a_long_error_keeps_its_head_and_the_chain_of_its_causes() -> None:
    frames = "".join(f"\n    at frame {n}" for n in range(50))
    text = f"TargetError: no{frames}\nCaused by: HTTP 500{frames}\nCaused by: disk full{frames}"
    cut = cut_text(text, 200)
    assert cut.startswith("TargetError: no\n    at frame 0")
    assert cut.endswith("\nCaused by: HTTP 500\nCaused by: disk full")
    assert len(cut) <= 200


def test_of_a_chain_that_is_too_long_its_end_is_kept() -> None:
    chain = "".join(f"\nCaused by: reason {n}" for n in range(100))
    cut = cut_text("no" + "x" * 300 + chain, 100)
    assert cut.endswith("Caused by: reason 99")
    assert cut.startswith("noxx")


def test_a_cause_that_is_in_the_head_is_not_told_twice() -> None:
    text = "no\nCaused by: first" + "\n    at frame" * 50 + "\nCaused by: last"
    cut = cut_text(text, 100)
    assert (cut.count("first"), cut.endswith("\nCaused by: last")) == (1, True)


@pytest.mark.parametrize("limit", range(1, 40))
def test_a_text_is_never_longer_than_its_limit(limit: int) -> None:
    text = "head\nCaused by: a\nCaused by: bb\n" + "x" * 50 + "\nCaused by: ccc"
    assert len(cut_text(text, limit)) <= limit
    assert cut_text("x" * limit, limit) == "x" * limit

"""Booking: what stays of a try, whatever it came to."""

from typing import Any

import pytest

from conjoin.kernel.inbox import InboxMessage, book
from conjoin.kernel.inbox.message import FAULTS, Ending, Fault
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Failed, Outcome, Unanswered, intend, outcome_of_verdict
from tests.kernel.inbox.simulator import MINUTE, NOBODY, S, make, preset

NOW = 1_000 * S


def booked(outcome: Outcome, message: InboxMessage | None = None, **changes: Any) -> InboxMessage:
    return book(make() if message is None else message, outcome, NOW, preset(**changes))


def test_a_message_that_was_delivered_is_done_and_says_who_took_it() -> None:
    done = booked(Delivered("correlated", "started_instance", "instance 7"))
    assert (done.state, done.tried_at) == ("done", NOW)
    assert done.ending == Ending("correlated", "started_instance", NOW, "instance 7")


@pytest.mark.parametrize("kind", FAULTS)
def test_every_class_of_errors_is_counted_noted_and_waits_for_its_back_off(kind: str) -> None:
    failed = booked(Failed(kind, "no"))
    assert (failed.state, failed.attempts, failed.error) == ("waiting", 1, Fault(kind, "no"))
    assert (failed.next_retry_at, failed.tried_at) == (NOW + MINUTE, NOW)


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("retryable", [True, False])
def test_an_error_in_the_grace_time_is_neither_counted_nor_noted(kind: str, retryable: bool) -> None:
    message = make(grace_until=NOW + 1)
    assert booked(Failed(kind, "no", retryable), message) == message._replace(tried_at=NOW)


def test_an_error_at_the_last_instant_of_the_grace_time_is_counted() -> None:
    assert booked(NOBODY, make(grace_until=NOW)).attempts == 1


def test_an_error_that_another_try_does_not_mend_is_parked_at_once() -> None:
    held = booked(Failed("mapping_error", "no such column", retryable=False))
    assert (held.state, held.parked_for, held.attempts) == ("parked", "held", 1)


def test_the_last_error_parks_and_is_noted() -> None:
    parked = booked(NOBODY, make(attempts=4), max_attempts=5)
    assert (parked.state, parked.parked_for, parked.attempts) == ("parked", "attempts_exhausted", 5)
    assert parked.error == Fault("target_error", "nobody waits")


def test_the_text_of_an_error_is_cut() -> None:
    failed = booked(Failed("target_error", "x" * 100), error_text_max=10)
    assert failed.error == Fault("target_error", "x" * 10)


def test_an_intent_is_seen_until_the_outcome_is_booked() -> None:
    called = intend(make(), NOW)
    assert (called.state, called.tried_at) == ("uncertain", NOW)
    assert booked(Delivered(), called).state == "done"
    assert booked(NOBODY, called).state == "waiting"


def test_an_intent_in_the_grace_time_leaves_the_message_waiting_after_an_error() -> None:
    assert booked(NOBODY, intend(make(grace_until=NOW + 1), NOW)).state == "waiting"


@pytest.mark.parametrize("state", ["paused", "parked", "done"])
def test_no_target_is_to_be_called_for_a_message_that_does_not_wait(state: str) -> None:
    message = make(state=state)
    assert intend(message, NOW) == message


def test_a_call_without_an_answer_is_an_error_that_is_tried_again() -> None:
    lost = booked(Unanswered(), intend(make(), NOW - MINUTE))
    assert (lost.state, lost.attempts) == ("waiting", 1)
    assert lost.error is not None
    assert lost.error.kind == "target_error"


def test_calls_without_an_answer_do_not_go_on_for_ever() -> None:
    assert booked(Unanswered(), make(attempts=4, state="uncertain"), max_attempts=5).state == "parked"


@pytest.mark.parametrize("grace_until", [0, NOW + 1])
def test_a_call_that_may_not_be_made_twice_is_held_for_a_person(grace_until: int) -> None:
    held = booked(Unanswered(), make(state="uncertain", grace_until=grace_until), on_uncertain="hold")
    assert (held.state, held.parked_for) == ("parked", "held")


@pytest.mark.parametrize(("tried_at", "reason"), [(None, "never_offered"), (5, "nobody_waited")])
def test_what_expires_ends_with_a_verdict(tried_at: int | None, reason: str) -> None:
    over = booked(Expired(), make(tried_at=tried_at))
    assert (over.state, over.ending) == ("expired", Ending("expired", reason, NOW))


@pytest.mark.parametrize("outcome", [Delivered(), NOBODY, Unanswered(), Expired()])
@pytest.mark.parametrize("state", ["done", "expired", "deleted"])
def test_an_answer_that_comes_late_changes_nothing(state: str, outcome: Outcome) -> None:
    ended = make(state=state, ending=Ending("discarded", "deleted", 1))
    assert booked(outcome, ended) == ended


@pytest.mark.parametrize("state", ["paused", "parked"])
def test_an_error_in_the_grace_time_does_not_wake_what_was_set_aside_meanwhile(state: str) -> None:
    assert booked(NOBODY, make(state=state, grace_until=NOW + 1)).state == state


@pytest.mark.parametrize("max_attempts", [1, 9])
def test_an_error_does_not_resume_what_was_paused_meanwhile(max_attempts: int) -> None:
    paused = booked(NOBODY, make(state="paused"), max_attempts=max_attempts)
    assert (paused.state, paused.attempts) == ("paused", 1)


@pytest.mark.parametrize(
    ("verdict", "reason", "outcome"),
    [
        ("correlated", "waiting_instance", Delivered("correlated", "waiting_instance", "7")),
        ("buffered", "nobody_waits", Delivered("buffered", "nobody_waits", "7")),
        ("refused", "duplicate_id", Delivered("refused", "duplicate_id", "7")),
        ("refused", "not_found", Failed("target_error", "said")),
        ("refused", "ambiguous", Failed("target_error", "said")),
        ("refused", "locked", Failed("target_error", "said")),
        ("refused", "invalid", Failed("target_error", "said", retryable=False)),
        ("refused", "forbidden", Failed("target_error", "said", retryable=False)),
        ("refused", "wrong_tenant", Failed("target_error", "said", retryable=False)),
    ],
)
def test_our_own_engines_verdict_is_an_outcome(verdict: str, reason: str, outcome: Outcome) -> None:
    assert outcome_of_verdict(verdict, reason, "7", "said") == outcome


def test_a_refusal_without_words_is_told_by_its_reason() -> None:
    assert outcome_of_verdict("refused", "not_found") == Failed("target_error", "not_found")

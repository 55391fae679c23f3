"""Due: one stored instant says when a message is worth looking at, and it always agrees with what is done then."""

import pytest
from hypothesis import given, seed
from hypothesis import strategies as st

from conjoin.kernel.inbox import InboxMessage, book, due_at_of
from conjoin.kernel.inbox.due import what_is_due
from conjoin.kernel.inbox.message import ENDED, STATES
from conjoin.kernel.inbox.outcomes import Outcome, Unanswered
from conjoin.kernel.instants import NEVER
from tests.conftest import the_seed
from tests.kernel.inbox.simulator import NOBODY, S, make, preset

SETTINGS = preset(lock_at_most=300_000)


@pytest.mark.parametrize(
    ("message", "due_at"),
    [
        (make(at=5), 5 * S),
        (make(next_retry_at=7 * S), 7 * S),
        (make(next_retry_at=7 * S, expires_at=6 * S), 6 * S),
        (make(tried_at=8 * S), 8 * S + 1),
        (make(tried_at=8 * S, next_retry_at=8 * S), 8 * S + 1),
        (make(state="paused"), None),
        (make(state="parked"), None),
        (make(state="paused", expires_at=9 * S), 9 * S),
        (make(state="parked", expires_at=9 * S), 9 * S),
        (make(state="uncertain", tried_at=10 * S, expires_at=9 * S), 310 * S),
        (make(next_retry_at=NEVER), None),
        *((make(state=state, expires_at=1), None) for state in ENDED),
    ],
)
def test_a_message_is_due_when_something_happens_to_it_by_itself(message: InboxMessage, due_at: int | None) -> None:
    assert due_at_of(message, SETTINGS) == due_at


INSTANTS = st.integers(0, 50)
MESSAGES = st.builds(
    lambda **about: make(**about),
    state=st.sampled_from(STATES),
    ingested_at=INSTANTS,
    attempts=st.integers(0, 3),
    next_retry_at=st.none() | INSTANTS,
    tried_at=st.none() | INSTANTS,
    expires_at=INSTANTS | st.just(NEVER),
    grace_until=INSTANTS,
)


@seed(the_seed())
@given(MESSAGES, INSTANTS)
def test_the_stored_instant_and_the_decision_agree(message: InboxMessage, now: int) -> None:
    settings = preset(lock_at_most=0)
    due_at = due_at_of(message, settings)
    assert (due_at is not None and due_at <= now) == (what_is_due(message, now, settings) is not None)


@seed(the_seed())
@given(MESSAGES, INSTANTS, st.sampled_from([NOBODY, Unanswered()]), st.sampled_from(["delay", "age"]))
def test_what_a_run_has_booked_is_not_due_again_at_the_same_instant(
    message: InboxMessage, now: int, outcome: Outcome, cap_on: str
) -> None:
    """So a run that asks again for what is due ends, and sees everybody."""
    settings = preset(backoff_cap_on=cap_on, backoff_cap=1)
    booked = book(message._replace(expires_at=NEVER, state="uncertain"), outcome, now, settings)
    assert what_is_due(booked, now, settings) is None


@pytest.mark.parametrize(("second", "what"), [(99, None), (100, "expire"), (101, "expire")])
def test_a_message_expires_at_its_last_instant_and_is_not_tried_then(second: int, what: str | None) -> None:
    message = make(expires_at=100 * S, next_retry_at=100 * S)
    assert what_is_due(message, second * S, SETTINGS) == what

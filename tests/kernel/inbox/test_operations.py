"""What a person can do with a message, and what is refused."""

from typing import Any

import pytest

from conjoin.kernel.inbox import InboxMessage, due_at_of, operate
from conjoin.kernel.inbox.groups import group_key_of
from conjoin.kernel.inbox.message import Ending, Fault, Hint
from conjoin.kernel.inbox.operations import (
    Correct,
    Delete,
    Operation,
    OperationRefused,
    Pause,
    Release,
    Resume,
    RetryNow,
    SetAttempts,
    SetNextRetry,
    operation_line,
)
from conjoin.kernel.instants import NEVER
from tests.kernel.inbox.simulator import Inbox, S, always_fails, always_takes, make, preset

NOW = 1_000 * S
FAILED = make(attempts=3, tried_at=900 * S, next_retry_at=2_000 * S, error=Fault("target_error", "no"))
PARKED = FAILED._replace(state="parked", parked_for="attempts_exhausted")
HELD = FAILED._replace(state="parked", parked_for="held")
EVERY_OPERATION = [
    *(Pause(), Resume(), RetryNow(), Release(), Delete()),
    *(SetAttempts(1), SetNextRetry(5), Correct(payload=b"[]")),
]


def done(message: InboxMessage, operation: Operation, **changes: Any) -> InboxMessage:
    answer = operate(message, operation, NOW, preset(**changes))
    assert isinstance(answer, InboxMessage)
    return answer


def refused(message: InboxMessage, operation: Operation, **changes: Any) -> str:
    answer = operate(message, operation, NOW, preset(**changes))
    assert isinstance(answer, OperationRefused)
    assert answer.text
    return answer.code


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=lambda it: type(it).__name__)
@pytest.mark.parametrize("state", ["done", "expired", "deleted"])
def test_nothing_is_done_with_a_message_that_has_ended(state: str, operation: Operation) -> None:
    assert refused(make(state=state, ending=Ending("", "", 1)), operation) == "ended"


@pytest.mark.parametrize("operation", EVERY_OPERATION, ids=lambda it: type(it).__name__)
def test_nobody_interferes_while_the_target_is_being_called(operation: Operation) -> None:
    assert refused(make(state="uncertain", tried_at=NOW), operation) == "uncertain"


@pytest.mark.parametrize("attempts", [0, 1, 99, 100, 101])
def test_pause_works_at_any_number_of_attempts(attempts: int) -> None:
    inbox = Inbox(preset(), always_takes, make(attempts=attempts, next_retry_at=0))
    assert inbox.operate(1, Pause(), 10) == ""
    inbox.polls(until=100)
    assert (inbox.state(1), inbox.tried()) == ("paused", [])


def test_a_paused_message_goes_on_where_it_was() -> None:
    assert done(done(FAILED, Pause()), Resume()) == FAILED


@pytest.mark.parametrize("parked", [PARKED, HELD])
def test_a_parked_message_that_is_paused_and_resumed_is_parked_again(parked: InboxMessage) -> None:
    assert done(done(parked, Pause()), Resume()) == parked


def test_pausing_twice_is_pausing_once() -> None:
    paused = done(FAILED, Pause())
    assert done(paused, Pause()) == paused


def test_only_what_is_paused_is_resumed() -> None:
    assert refused(FAILED, Resume()) == "not_paused"


def test_retry_now_overrides_the_back_off_and_keeps_the_count() -> None:
    again = done(FAILED, RetryNow())
    assert (again.attempts, due_at_of(again, preset())) == (3, NOW)
    assert done(PARKED, RetryNow()) == again


@pytest.mark.parametrize("parked", [PARKED, HELD])
def test_retry_now_gives_a_parked_message_one_attempt_more(parked: InboxMessage) -> None:
    inbox = Inbox(preset(max_attempts=3), always_fails, parked)
    inbox.operate(1, RetryNow(), 1_000)
    inbox.polls(until=90_000, started_at=1_000)
    assert len(inbox.tries) == 1
    assert (inbox.state(1), inbox.rows[1].attempts) == ("parked", 4)


def test_retry_now_does_not_break_a_pause() -> None:
    assert refused(done(FAILED, Pause()), RetryNow()) == "paused"


@pytest.mark.parametrize("parked", [PARKED, HELD])
def test_a_released_message_begins_anew(parked: InboxMessage) -> None:
    released = done(parked, Release())
    assert (released.state, released.attempts, released.parked_for) == ("waiting", 0, "")
    assert due_at_of(released, preset()) == NOW


@pytest.mark.parametrize("message", [FAILED, FAILED._replace(state="paused")])
def test_only_what_is_parked_is_released(message: InboxMessage) -> None:
    assert refused(message, Release()) == "not_parked"


@pytest.mark.parametrize(
    ("before", "attempts", "state"),
    [
        (FAILED, 0, "waiting"),
        (FAILED, 4, "waiting"),
        (FAILED, 5, "parked"),
        (PARKED, 4, "waiting"),
        (PARKED, 6, "parked"),
        (HELD, 0, "parked"),
        (FAILED._replace(state="paused"), 7, "paused"),
    ],
)
def test_setting_the_attempts_parks_at_the_maximum_and_wakes_below_it(
    before: InboxMessage, attempts: int, state: str
) -> None:
    after = done(before, SetAttempts(attempts), max_attempts=5)
    assert (after.state, after.attempts) == (state, attempts)


def test_a_paused_message_whose_attempts_are_used_up_is_parked_when_it_is_resumed() -> None:
    paused = done(FAILED._replace(state="paused"), SetAttempts(100))
    assert done(paused, Resume()).state == "parked"


@pytest.mark.parametrize("attempts", [-1, 2**31])
def test_a_number_of_attempts_that_cannot_be_is_refused(attempts: int) -> None:
    assert refused(FAILED, SetAttempts(attempts)) == "invalid"


def test_the_next_retry_is_when_the_person_says() -> None:
    assert due_at_of(done(FAILED, SetNextRetry(1_500 * S)), preset()) == 1_500 * S
    assert due_at_of(done(make(), SetNextRetry(NEVER)), preset()) is None


def test_the_next_retry_of_a_paused_message_holds_when_it_is_resumed() -> None:
    paused = done(done(FAILED, Pause()), SetNextRetry(1_500 * S))
    assert paused.state == "paused"
    assert due_at_of(done(paused, Resume()), preset()) == 1_500 * S


@pytest.mark.parametrize(("message", "at", "code"), [(PARKED, 5, "parked"), (FAILED, NEVER + 1, "invalid")])
def test_a_next_retry_that_cannot_be_is_refused(message: InboxMessage, at: int, code: str) -> None:
    assert refused(message, SetNextRetry(at)) == code


@pytest.mark.parametrize("before", [make(), FAILED, PARKED, HELD])
def test_a_corrected_message_is_tried_anew(before: InboxMessage) -> None:
    mended = done(before, Correct(payload=b'{"id": 7}'))
    assert mended == before._replace(
        payload=b'{"id": 7}', state="waiting", attempts=0, next_retry_at=NOW, error=None, parked_for=""
    )


def test_variables_of_the_old_payload_do_not_stand_over_the_corrected_one() -> None:
    before = FAILED._replace(hint=FAILED.hint._replace(variables={"amount": 1}))
    assert done(before, Correct(payload=b'{"amount": 2}')).hint == FAILED.hint
    assert done(before, Correct(b"{}", before.hint)).hint == before.hint


def test_a_corrected_key_moves_the_message_to_the_group_of_that_key() -> None:
    mended = done(FAILED, Correct(hint=Hint("paid", "order-8")))
    assert mended.payload == FAILED.payload
    assert mended.group_key == group_key_of(make(hint=Hint("paid", "order-8"))) != FAILED.group_key


def test_correcting_does_not_break_a_pause() -> None:
    assert done(FAILED._replace(state="paused"), Correct(payload=b"")).state == "paused"


@pytest.mark.parametrize(("operation", "code"), [(Correct(), "invalid"), (Correct(payload=b"12345"), "too_large")])
def test_a_correction_that_says_nothing_or_too_much_is_refused(operation: Correct, code: str) -> None:
    assert refused(FAILED, operation, payload_max=4) == code


@pytest.mark.parametrize("before", [make(), FAILED, PARKED, FAILED._replace(state="paused")])
def test_a_deleted_message_is_never_tried_again_and_stays_known(before: InboxMessage) -> None:
    gone = done(before, Delete())
    assert (gone.state, gone.ending) == ("deleted", Ending("discarded", "deleted", NOW))
    assert (gone.message_id, due_at_of(gone, preset())) == ("m-1", None)


@pytest.mark.parametrize(
    ("operation", "name", "detail"),
    [
        (Pause(), "pause", {}),
        (Resume(), "resume", {}),
        (RetryNow(), "retry", {}),
        (Release(), "release", {}),
        (Delete(), "delete", {}),
        (SetAttempts(0), "set_attempts", {"attempts": 0}),
        (SetNextRetry(7), "set_next_retry", {"at": "1970-01-01T00:00:00.000007Z"}),
        (
            Correct(b"12", Hint("paid", "k")),
            "correct",
            {"payload": "2 bytes", "hint": {"name": "paid", "correlation_key": "k"}},
        ),
    ],
)
def test_every_operation_leaves_a_line_with_its_values(operation: Operation, name: str, detail: object) -> None:
    assert operation_line(operation) == (name, detail)

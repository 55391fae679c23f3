"""A run over one group: who is tried, in both modes and behind both gates."""

import pytest

from conjoin.kernel.inbox import InboxMessage, InboxSettings, plan
from conjoin.kernel.inbox.message import STATES, Ending
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Failed, Unanswered
from conjoin.kernel.inbox.run import goes_on, states_in_plan
from tests.kernel.inbox.simulator import NOBODY, Inbox, S, always_takes, fails_for, make, preset

NOW = 1_000
FRESH = make(1)
IN_BACKOFF = make(2, attempts=1, tried_at=990 * S, next_retry_at=1_100 * S)
DUE_AGAIN = make(2, attempts=1, tried_at=800 * S, next_retry_at=900 * S)
POSTPONED = make(2, next_retry_at=1_100 * S)
PAUSED = make(2, state="paused")
PAUSED_WITH_ERROR = make(2, state="paused", attempts=3, tried_at=0)
PARKED = make(2, state="parked", attempts=5, tried_at=0, parked_for="attempts_exhausted")
UNCERTAIN = make(2, state="uncertain", tried_at=990 * S)
LAST = make(3)


def tried(settings: InboxSettings, *group: InboxMessage) -> list[int]:
    return [message.key for message in plan(group, NOW * S, settings).tries]


@pytest.mark.parametrize("gate", ["own", "strict"])
@pytest.mark.parametrize("mode", ["all", "fail_first"])
@pytest.mark.parametrize("middle", [make(2), DUE_AGAIN], ids=["fresh", "due again"])
def test_what_is_due_is_tried_in_order(mode: str, gate: str, middle: InboxMessage) -> None:
    settings = preset(mode=mode, group_gate=gate)
    assert tried(settings, LAST, FRESH, middle) == [1, 2, 3]


@pytest.mark.parametrize("middle", [IN_BACKOFF, POSTPONED, PAUSED, PAUSED_WITH_ERROR, PARKED, UNCERTAIN])
def test_in_mode_all_with_gate_own_each_message_waits_for_itself(middle: InboxMessage) -> None:
    assert tried(preset(mode="all"), FRESH, middle, LAST) == [1, 3]


@pytest.mark.parametrize("middle", [IN_BACKOFF, POSTPONED, PAUSED, PAUSED_WITH_ERROR, UNCERTAIN])
def test_in_mode_fail_first_nobody_overtakes_a_message_that_keeps_its_place(middle: InboxMessage) -> None:
    assert tried(preset(mode="fail_first"), FRESH, middle, LAST) == [1]


def test_in_mode_fail_first_a_parked_message_is_overtaken() -> None:
    assert tried(preset(mode="fail_first"), FRESH, PARKED, LAST) == [1, 3]


def test_in_mode_fail_first_a_parked_message_holds_those_behind_it_if_the_setting_says_so() -> None:
    settings = preset(mode="fail_first", exhausted_blocks=True)
    assert tried(settings, FRESH, PARKED, LAST) == [1]


@pytest.mark.parametrize("mode", ["all", "fail_first"])
@pytest.mark.parametrize("middle", [IN_BACKOFF, PAUSED_WITH_ERROR, UNCERTAIN])
def test_the_strict_gate_holds_the_whole_group_behind_an_error_that_is_not_due(mode: str, middle: InboxMessage) -> None:
    assert tried(preset(mode=mode, group_gate="strict"), FRESH, middle, LAST) == []


@pytest.mark.parametrize("middle", [POSTPONED, PAUSED])
def test_the_strict_gate_is_open_for_a_message_without_an_error(middle: InboxMessage) -> None:
    assert tried(preset(mode="all", group_gate="strict"), FRESH, middle, LAST) == [1, 3]


@pytest.mark.parametrize("mode", ["all", "fail_first"])
def test_the_strict_gate_is_not_kept_shut_by_a_parked_message(mode: str) -> None:
    """The document would block the group for ever."""
    assert tried(preset(mode=mode, group_gate="strict"), FRESH, PARKED, LAST) == [1, 3]


@pytest.mark.parametrize("mode", ["all", "fail_first"])
def test_the_strict_gate_is_kept_shut_by_a_parked_message_if_the_setting_says_so(mode: str) -> None:
    settings = preset(mode=mode, group_gate="strict", exhausted_blocks=True)
    assert tried(settings, FRESH, PARKED, LAST) == []


@pytest.mark.parametrize(("size", "keys"), [(-1, [1, 2, 3]), (0, []), (1, [1]), (2, [1, 2]), (9, [1, 2, 3])])
def test_the_batch_size_takes_the_first_of_a_group(size: int, keys: list[int]) -> None:
    assert tried(preset(batch_size=size), FRESH, make(2), LAST) == keys


def test_the_batch_size_counts_only_who_can_be_tried() -> None:
    assert tried(preset(mode="all", batch_size=2), make(1, state="paused"), IN_BACKOFF, LAST, make(4)) == [3, 4]


@pytest.mark.parametrize("state", ["waiting", "paused", "parked"])
def test_what_is_past_its_expiration_ends_without_a_try_and_holds_nobody(state: str) -> None:
    over = make(1, state=state, attempts=1, next_retry_at=2_000 * S, expires_at=NOW * S)
    decided = plan([over, LAST], NOW * S, preset(group_gate="strict"))
    assert decided.settled == ((over, Expired()),)
    assert decided.tries == (LAST,)


def test_a_call_whose_lease_is_over_is_booked_as_unanswered_and_keeps_its_place() -> None:
    lost = make(1, state="uncertain", tried_at=100 * S)
    decided = plan([lost, LAST], NOW * S, preset(lock_at_most=300_000))
    assert decided.settled == ((lost, Unanswered()),)
    assert decided.tries == ()


def test_a_call_that_is_under_way_is_left_alone() -> None:
    assert plan([UNCERTAIN], NOW * S, preset()).settled == ()


def test_what_has_ended_is_not_part_of_a_run() -> None:
    ended = [make(n, state=s, ending=Ending("", "", 0)) for n, s in enumerate(("done", "expired", "deleted"))]
    assert plan(ended, NOW * S, preset(exhausted_blocks=True, group_gate="strict")) == ((), ())


@pytest.mark.parametrize(
    ("mode", "outcome", "further"),
    [
        ("fail_first", Delivered(), True),
        ("fail_first", NOBODY, False),
        ("fail_first", Failed("decode_error", "not JSON", retryable=False), False),
        ("fail_first", Unanswered(), False),
        ("all", NOBODY, True),
        ("all", Unanswered(), True),
    ],
)
def test_an_error_ends_the_run_of_a_group_only_in_mode_fail_first(mode: str, outcome: Failed, further: bool) -> None:
    assert goes_on(outcome, preset(mode=mode)) is further


def test_fail_first_leaves_the_rest_of_the_group_untouched() -> None:
    inbox = Inbox(preset(mode="fail_first"), fails_for(2), FRESH, make(2), LAST)
    assert inbox.run(NOW) == [1, 2]
    assert inbox.rows[3] == LAST


def test_mode_all_books_each_error_on_its_own_message() -> None:
    inbox = Inbox(preset(mode="all"), fails_for(1, 3), FRESH, make(2), LAST)
    assert inbox.run(NOW) == [1, 2, 3]
    assert [inbox.rows[key].attempts for key in (1, 2, 3)] == [1, 0, 1]


def test_a_group_does_not_hold_another_one() -> None:
    inbox = Inbox(preset(group_gate="strict"), always_takes, IN_BACKOFF, LAST, make(4, group="other"))
    assert inbox.run(NOW) == [4]


def test_a_parked_message_is_needed_for_a_plan_only_where_it_blocks() -> None:
    assert "parked" not in states_in_plan(preset())
    assert "parked" in states_in_plan(preset(exhausted_blocks=True))
    assert set(states_in_plan(preset(exhausted_blocks=True))) < set(STATES)

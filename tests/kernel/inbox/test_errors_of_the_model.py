"""What goes wrong in the model that this inbox follows, and does not here: one test each."""

import pytest

from conjoin.kernel.inbox import InboxMessage, accept
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.message import DECODE_ERROR, Hint, identity_of
from conjoin.kernel.inbox.operations import Pause, Resume
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Outcome
from tests.kernel.inbox.simulator import Inbox, S, always_fails, always_takes, fails_for, make, preset

PRESETS = ["conjoin", "correlate-docs", "correlate-code"]
MODES = ["all", "fail_first"]


def cannot_read_the_first(message: InboxMessage, now: int) -> Outcome:
    return Failed(DECODE_ERROR, "not JSON") if message.key == 1 else Delivered()


@pytest.mark.parametrize("preset_name", PRESETS)
def test_a_page_of_messages_that_are_stuck_does_not_hide_newer_ones(preset_name: str) -> None:
    parked = [make(n, group=f"p{n}", state="parked", parked_for="held") for n in range(10)]
    paused = [make(n, group=f"q{n}", state="paused") for n in range(10, 20)]
    in_backoff = [make(n, group=f"b{n}", attempts=1, next_retry_at=10**12) for n in range(20, 30)]
    inbox = Inbox(preset(preset_name, page_size=3), always_takes, *parked, *paused, *in_backoff, make(99, at=50))
    assert inbox.run(60) == [99]
    assert inbox.pages == 1


def test_a_page_of_messages_that_wait_for_their_group_does_not_hide_other_groups() -> None:
    stuck = make(1, attempts=1, next_retry_at=10**12)
    behind = [make(n) for n in range(2, 30)]
    inbox = Inbox(preset(mode="fail_first", page_size=3), always_takes, stuck, *behind, make(99, group="other", at=50))
    assert inbox.run(60) == [99]


@pytest.mark.parametrize("mode", MODES)
def test_one_unreadable_payload_does_not_stop_the_others(mode: str) -> None:
    others = [make(n, group=f"g{n}") for n in (2, 3)]
    inbox = Inbox(preset(mode=mode), cannot_read_the_first, make(1), *others)
    inbox.run(60)
    assert [inbox.state(key) for key in (1, 2, 3)] == ["waiting", "done", "done"]


def test_an_unreadable_payload_does_not_stop_its_own_group_in_mode_all() -> None:
    inbox = Inbox(preset(mode="all"), cannot_read_the_first, make(1), make(2))
    assert inbox.run(60) == [1, 2]
    assert inbox.state(2) == "done"


def test_decode_errors_wait_for_their_back_off_like_all_others() -> None:
    inbox = Inbox(preset(poll_initial_delay=6_000), cannot_read_the_first, make(1))
    inbox.polls(until=200)
    assert [second for second, _ in inbox.tried()] == [6, 66, 186]


@pytest.mark.parametrize("preset_name", PRESETS)
def test_a_group_is_not_blocked_for_ever_by_an_exhausted_message(preset_name: str) -> None:
    inbox = Inbox(preset(preset_name, max_attempts=2), fails_for(1), make(1), make(2))
    inbox.polls(until=40_000)
    assert (inbox.state(1), inbox.state(2)) == ("parked", "done")


def test_a_pause_has_effect_before_the_first_attempt() -> None:
    inbox = Inbox(preset(), always_takes, make(1))
    inbox.operate(1, Pause(), 0)
    assert inbox.run(60) == []
    inbox.operate(1, Resume(), 70)
    assert inbox.run(80) == [1]


@pytest.mark.parametrize("mode", MODES)
def test_the_oldest_comes_first(mode: str) -> None:
    inbox = Inbox(preset(mode=mode), always_takes, make(3, at=7), make(2, at=8), make(1, at=9))
    assert inbox.run(60) == [3, 2, 1]


def test_a_duplicate_has_the_identity_by_which_it_is_acknowledged() -> None:
    header = (("X-CORRELATE-ID", "m-7"),)
    first = Arrival(1, "orders-0", 5, 0, b"{}", header)
    again = Arrival(2, "orders-1", 99, 60 * S, b"{}", header)
    messages = [accept(arrival, Channel("orders"), preset()) for arrival in (first, again)]
    assert len({identity_of(m) for m in messages if isinstance(m, InboxMessage)}) == 1


@pytest.mark.parametrize(
    "message",
    [
        make(1),
        make(1, attempts=2, next_retry_at=10**12),
        make(1, state="paused"),
        make(1, state="parked", parked_for="held"),
    ],
    ids=["never tried", "failed", "paused", "parked"],
)
def test_an_expiration_is_honoured_whatever_became_of_the_message(message: InboxMessage) -> None:
    inbox = Inbox(preset(), always_takes, message._replace(expires_at=50 * S))
    assert inbox.run(60) == []
    assert inbox.state(1) == "expired"


def test_a_message_behind_one_that_is_stuck_expires_as_well() -> None:
    inbox = Inbox(preset(mode="fail_first"), always_fails, make(1, attempts=1, next_retry_at=10**12), make(2))
    inbox.rows[2] = inbox.rows[2]._replace(expires_at=50 * S)
    inbox.run(60)
    assert inbox.state(2) == "expired"


def test_hints_with_only_a_business_key_are_not_one_group() -> None:
    one, other = (make(n, hint=Hint("paid", business_key=f"order-{n}")) for n in (1, 2))
    inbox = Inbox(preset(group_gate="strict"), fails_for(1), one, other)
    inbox.run(60)
    assert (inbox.state(1), inbox.state(2)) == ("waiting", "done")

"""The two tables of retries, to the letter: poll every 6 s, time to live 10 s, base 2, cap 10 min, maximum 5."""

from typing import Any

import pytest

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.outcomes import delay_ms, is_exhausted
from tests.kernel.inbox.simulator import Inbox, S, always_fails, make, preset

TABLE = {"poll_initial_delay": 6_000, "backoff_base": 2.0, "backoff_cap": 600_000, "max_attempts": 5}

# Second, attempts and next retry after it, as the document prints them.
DOCUMENT = [
    (6, 0, None),
    (12, 1, 72),
    (18, 1, 72),
    (72, 2, 192),
    (192, 3, 432),
    (432, 4, 600),
    (600, 5, 600),
    (606, 5, 600),
]


def stubborn(preset_name: str) -> Inbox:
    """An inbox with one message that was ingested at 0 with 10 s of grace and is never taken."""
    return Inbox(preset(preset_name, **TABLE), always_fails, make(grace_until=10 * S))


def test_correlate_docs_tries_when_the_document_says() -> None:
    inbox = stubborn("correlate-docs")
    inbox.polls(until=7_200)
    assert [second for second, _ in inbox.tried()] == [6, 12, 72, 192, 432, 600]
    assert (inbox.state(1), inbox.rows[1].parked_for) == ("parked", "attempts_exhausted")


@pytest.mark.parametrize(("second", "attempts", "next_retry"), DOCUMENT)
def test_correlate_docs_books_what_the_document_prints(second: int, attempts: int, next_retry: int | None) -> None:
    inbox = stubborn("correlate-docs")
    inbox.polls(until=second)
    message = inbox.rows[1]
    assert message.attempts == attempts
    assert message.next_retry_at == (None if next_retry is None else next_retry * S)


def test_correlate_code_tries_when_the_program_does() -> None:
    inbox = stubborn("correlate-code")
    inbox.polls(until=86_400)
    assert [second for second, _ in inbox.tried()] == [6, 12, 132, 372, 852, 1452, 2052]
    assert (inbox.state(1), inbox.rows[1].attempts) == ("parked", 6)


def test_our_own_preset_caps_the_delay_and_gives_up_at_the_maximum() -> None:
    inbox = stubborn("conjoin")
    inbox.polls(until=86_400)
    # 2^0, 2^1, 2^2, 2^3 minutes after each error; the fifth error is the last.
    assert [second for second, _ in inbox.tried()] == [6, 12, 72, 192, 432, 912]


def test_an_error_in_the_grace_time_leaves_no_trace_but_the_time_of_the_try() -> None:
    inbox = stubborn("conjoin")
    inbox.polls(until=6)
    assert inbox.rows[1] == make(grace_until=10 * S, tried_at=6 * S)


def test_a_message_older_than_the_cap_is_tried_at_every_run_until_the_maximum() -> None:
    """The document's cap is an age, and it says nothing more about a message that has passed it."""
    inbox = Inbox(preset("correlate-docs", **TABLE | {"max_attempts": 9}), always_fails, make())
    inbox.polls(until=7_200)
    assert [second for second, _ in inbox.tried()] == [6, 66, 186, 426, 600, 606, 612, 618, 624]
    assert inbox.rows[1].next_retry_at == 624 * S


@pytest.mark.parametrize(
    ("changes", "minutes"),
    [
        ({}, [1, 2, 4, 8, 16, 32, 64, 128, 180, 180]),
        ({"backoff_exponent": "attempt"}, [2, 4, 8, 16, 32, 64, 128, 180, 180, 180]),
        ({"backoff_base": 3.0, "backoff_cap": 600_000}, [1, 3, 9, 10, 10]),
        ({"backoff_base": 1.0}, [1, 1, 1]),
        ({"backoff_base": 1.5}, [1, 1.5, 2.25]),
        ({"backoff_unit": 6_000}, [0.1, 0.2, 0.4]),
        ({"backoff_cap_on": "age", "backoff_cap": 60_000}, [1, 2, 4]),
    ],
)
def test_the_delays_follow_base_unit_exponent_and_cap(changes: dict[str, Any], minutes: list[float]) -> None:
    settings = preset(**changes)
    assert [delay_ms(n, settings) / 60_000 for n in range(1, len(minutes) + 1)] == minutes


@pytest.mark.parametrize("cap_on", ["delay", "age"])
def test_a_number_of_attempts_beyond_all_bounds_gives_a_delay_and_no_error(cap_on: str) -> None:
    settings = preset(backoff_cap_on=cap_on)
    assert delay_ms(2**31, settings) >= settings.backoff_cap


@pytest.mark.parametrize(
    ("settings", "last_error"),
    [
        (InboxSettings(max_attempts=3), 3),
        (InboxSettings(max_attempts=3, max_rule="exceeded"), 4),
        (InboxSettings(max_attempts=1), 1),
        (InboxSettings(max_attempts=0), 1),
        (InboxSettings(max_attempts=0, max_rule="exceeded"), 1),
    ],
)
def test_a_message_is_given_up_at_its_last_error_and_not_before(settings: InboxSettings, last_error: int) -> None:
    assert [n for n in range(6) if is_exhausted(n, settings)] == list(range(last_error, 6))

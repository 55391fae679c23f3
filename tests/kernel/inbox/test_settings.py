"""Settings: what each changes, what the presets say, and every problem of a configuration at once."""

from collections.abc import Callable
from dataclasses import asdict
from operator import attrgetter

import pytest

from conjoin.kernel.inbox import PRESETS, InboxMessage, InboxSettings, accept, book, due_at_of, plan
from conjoin.kernel.inbox.accepting import Arrival
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.inbox.due import CLEANUP, RUN, next_job_at
from conjoin.kernel.inbox.groups import order_of
from conjoin.kernel.inbox.message import Ending
from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.kernel.inbox.settings import CHOICES
from conjoin.runtime.inbox.configuration import NAMES, read_settings
from tests.kernel.inbox.simulator import Inbox, S, always_fails, fails_for, make, preset

Seen = Callable[[InboxSettings], object]


def tries_of(target: object = always_fails, *messages: InboxMessage, until: int = 40_000) -> Seen:
    """When whom: the tries of an inbox whose schedule runs for some hours."""

    def seen(settings: InboxSettings) -> object:
        inbox = Inbox(settings, target, *(messages or (make(),)))  # type: ignore[arg-type]
        inbox.polls(until)
        return inbox.tried(), [message.state for message in inbox.rows.values()]

    return seen


def accepted(settings: InboxSettings) -> object:
    message = accept(Arrival(1, "orders-0", 7, 5 * S, b"12345"), Channel("orders"), settings)
    return message[8:] if isinstance(message, InboxMessage) else message


def accepted_with_grace(settings: InboxSettings) -> object:
    headers = (("X-CORRELATE-Timestamp", "1970-01-01T00:00:01Z"), ("X-CORRELATE-TTL", "PT1S"))
    message = accept(Arrival(1, "orders-0", 7, 5 * S, b"{}", headers), Channel("orders"), settings)
    assert isinstance(message, InboxMessage)
    return message.grace_until


def next_jobs(settings: InboxSettings) -> object:
    return [next_job_at(job, 0, last, settings) for job in (RUN, CLEANUP) for last in (None, 100 * S)]


def pages(settings: InboxSettings) -> object:
    inbox = Inbox(settings, always_fails, *(make(n, group=str(n)) for n in range(1, 6)))
    inbox.run(1)
    return inbox.pages


TWO = (make(1), make(2, at=1))
OVERTAKEN = (make(1, at=9, message_id="a", sort_value=2), make(2, at=1, message_id="b", sort_value=1))
PARKED = make(state="parked", parked_for="held")
ENDED = make(state="done", ending=Ending("correlated", "waiting_instance", 0))

# For each setting another value than the default's, and where the difference is seen.
EFFECTS: dict[str, tuple[object, Seen]] = {
    "enabled": (False, next_jobs),
    "poll_interval": (7_000, next_jobs),
    "poll_initial_delay": (1, next_jobs),
    "cleanup_interval": (7_000, next_jobs),
    "cleanup_initial_delay": (1, next_jobs),
    "mode": ("all", tries_of(fails_for(1), *TWO)),
    "group_gate": ("strict", lambda settings: plan([make(1), make(2, attempts=1, next_retry_at=9 * S)], S, settings)),
    "exhausted_blocks": (True, lambda settings: plan([PARKED, make(2)], S, settings)),
    "order": ("message_id", lambda settings: [m.key for m in sorted(OVERTAKEN, key=order_of(settings))]),
    "batch_size": (1, tries_of(fails_for(), *TWO)),
    "page_size": (2, pages),
    "max_attempts": (3, tries_of()),
    "max_rule": ("exceeded", lambda settings: book(make(attempts=99), Unanswered(), S, settings)),
    "backoff_base": (3.0, tries_of()),
    "backoff_unit": (1_000, tries_of()),
    "backoff_cap": (90_000, tries_of()),
    "backoff_exponent": ("attempt", tries_of()),
    "backoff_cap_on": ("age", tries_of()),
    "on_uncertain": ("hold", lambda settings: book(make(state="uncertain"), Unanswered(), S, settings)),
    "grace": (10_000, accepted),
    "grace_from": ("ingestion", accepted_with_grace),
    "expiration": (10_000, accepted),
    "encoding": ("avro", accepted),
    "payload_max": (4, accepted),
    # Leases and cleanup are the runtime's: tests/runtime/inbox/test_scheduling.py.
    "cluster": (False, attrgetter("cluster")),
    "lock_at_most": (1, lambda settings: due_at_of(make(state="uncertain", tried_at=0), settings)),
    "error_text_max": (5, lambda settings: book(make(), Failed("decode_error", "x" * 50), S, settings)),
    "retention": (None, attrgetter("retention")),
}


def test_every_setting_is_tried_here() -> None:
    assert set(EFFECTS) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_setting_changes_something(name: str) -> None:
    value, seen = EFFECTS[name]
    settings, problems = read_settings("conjoin", {name: value})
    assert problems == []
    assert getattr(settings, name) == value
    assert seen(settings) != seen(preset())


def test_the_order_by_an_expression_takes_the_value_that_comes_with_the_message() -> None:
    settings, problems = read_settings("conjoin", {"order": "= seq"})
    assert problems == []
    assert [m.key for m in sorted(OVERTAKEN, key=order_of(settings))] == [2, 1]


PRESET_TABLE = {
    "mode": ("fail_first", "all", "fail_first"),
    "group_gate": ("own", "strict", "strict"),
    "page_size": (1_000, 100, 1_000),
    "backoff_base": (2.0, 180.0, 2.0),
    "backoff_exponent": ("attempt_minus_one", "attempt_minus_one", "attempt"),
    "backoff_cap_on": ("delay", "age", "delay"),
    "max_rule": ("reached", "reached", "exceeded"),
    "exhausted_blocks": (False, True, False),
    "grace_from": ("event_time", "ingestion", "event_time"),
}
"""Where the presets differ: ours, what the document prints, what its program does."""

IN_ALL = {
    "poll_interval": 6_000,
    "poll_initial_delay": 10_000,
    "cleanup_interval": 60_000,
    "cleanup_initial_delay": 60_000,
    "batch_size": -1,
    "max_attempts": 100,
    "backoff_cap": 180 * 60_000,
    "grace": None,
    "encoding": "json",
    "cluster": True,
    "lock_at_most": 300_000,
    "error_text_max": 9_999,
}


@pytest.mark.parametrize("name", list(PRESET_TABLE))
def test_the_presets_say_what_their_sources_say(name: str) -> None:
    names = ("conjoin", "correlate-docs", "correlate-code")
    assert tuple(getattr(PRESETS[preset_name], name) for preset_name in names) == PRESET_TABLE[name]


@pytest.mark.parametrize("preset_name", list(PRESETS))
def test_all_else_is_the_same_in_every_preset(preset_name: str) -> None:
    settings, problems = read_settings(preset_name, {})
    assert (settings, problems) == (PRESETS[preset_name], [])
    assert asdict(settings).items() >= IN_ALL.items()


@pytest.mark.parametrize(
    ("name", "written", "read"),
    [
        ("poll_interval", "PT6S", 6_000),
        ("poll_interval", "6s", 6_000),
        ("poll_interval", 6_000, 6_000),
        ("poll_initial_delay", "0s", 0),
        ("backoff_cap", "P1DT1H", 25 * 3_600_000),
        ("grace", "none", None),
        ("retention", None, None),
        ("batch_size", "-1", -1),
        ("max_attempts", "5", 5),
        ("backoff_base", "2.5", 2.5),
        ("backoff_base", 2, 2.0),
        ("cluster", "off", False),
        ("encoding", " Jackson", "json"),
    ],
)
def test_a_value_is_read_as_people_write_it(name: str, written: object, read: object) -> None:
    settings, problems = read_settings("conjoin", {name: written})
    assert (getattr(settings, name), problems) == (read, [])


@pytest.mark.parametrize(
    ("name", "written"),
    [
        *((name, "perhaps") for name in CHOICES),
        *((name, ["all"]) for name in CHOICES),
        *(("poll_interval", value) for value in (0, "0s", -1, "soon", "P1M", "-PT6S", None, 1.5, True, "9" * 5_000)),
        *(("lock_at_most", value) for value in (0, "none", f"P{10**15}D")),
        *(("grace", value) for value in ("soon", -1, True, [])),
        *(("max_attempts", value) for value in (-1, "many", 1.5, True, None, "9" * 5_000)),
        *(("batch_size", value) for value in (-2, "all")),
        *(("page_size", value) for value in (0, -1)),
        *(("backoff_base", value) for value in (0.5, 0, -2, "nan", "inf", float("nan"), True, None, [], 10**400)),
        *(("order", value) for value in ("newest", None, "", 7)),
        *(("encoding", value) for value in ("", " ", None, 7)),
        *(("cluster", value) for value in ("perhaps", None, 1)),
        ("pol_interval", "6s"),
        ("colour", "blue"),
    ],
)
def test_a_bad_value_is_one_problem_that_begins_with_its_name(name: str, written: object) -> None:
    settings, problems = read_settings("conjoin", {name: written})
    assert [problem.split(":")[0] for problem in problems] == [name]
    assert settings == PRESETS["conjoin"]


def test_a_misspelt_name_is_told_what_was_meant() -> None:
    _, problems = read_settings("conjoin", {"pol_interval": "6s"})
    assert problems == ["pol_interval: there is no such setting; did you mean 'poll_interval'?"]


def test_every_problem_is_told_at_once() -> None:
    _, problems = read_settings("camunda", {"mode": "some", "grace": "soon", "colour": 1, "exhausted_blocks": True})
    assert [problem.split(":")[0] for problem in problems] == ["preset", "mode", "grace", "colour"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mode": "all", "exhausted_blocks": True},
        {"grace": "10s", "expiration": "10s"},
        {"grace": "1h", "expiration": "1m"},
    ],
)
def test_a_mix_that_makes_no_sense_is_a_problem(changes: dict[str, object]) -> None:
    _, problems = read_settings("conjoin", changes)
    assert len(problems) == 1


@pytest.mark.parametrize(
    "changes", [{"exhausted_blocks": True}, {"mode": "all", "group_gate": "strict", "exhausted_blocks": True}]
)
def test_a_parked_message_may_block_wherever_somebody_waits_for_somebody(changes: dict[str, object]) -> None:
    assert read_settings("conjoin", changes)[1] == []

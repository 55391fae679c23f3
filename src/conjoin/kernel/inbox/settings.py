"""Settings of the inbox: one value for each question, and the named sets of them.

Durations are milliseconds; None means "none". `conjoin` is ours; `correlate-docs` does what the document on scheduled
batch processing prints, `correlate-code` what its program does. How settings are written in a file is not known here.
"""

from dataclasses import dataclass

FAIL_FIRST, ALL = "fail_first", "all"
OWN, STRICT = "own", "strict"
ATTEMPT, ATTEMPT_MINUS_ONE = "attempt", "attempt_minus_one"
DELAY, AGE = "delay", "age"
REACHED, EXCEEDED = "reached", "exceeded"
RETRY, HOLD = "retry", "hold"
EVENT_TIME, MESSAGE_ID, INGESTION = "event_time", "message_id", "ingestion"
EXPRESSION_MARK = "="
"""An order that begins with it is an expression; its value comes with the message."""

NO_LIMIT = -1

CHOICES: dict[str, tuple[str, ...]] = {
    "mode": (ALL, FAIL_FIRST),
    "group_gate": (OWN, STRICT),
    "backoff_exponent": (ATTEMPT, ATTEMPT_MINUS_ONE),
    "backoff_cap_on": (DELAY, AGE),
    "max_rule": (REACHED, EXCEEDED),
    "on_uncertain": (RETRY, HOLD),
    "grace_from": (EVENT_TIME, INGESTION),
}


@dataclass(frozen=True, slots=True)
class InboxSettings:
    """The defaults are those of the preset `conjoin`."""

    enabled: bool = True
    poll_interval: int = 6_000
    poll_initial_delay: int = 10_000
    cleanup_interval: int = 60_000
    cleanup_initial_delay: int = 60_000

    mode: str = FAIL_FIRST
    """What an error means for messages behind it: `fail_first` ends the group's run, `all` goes on."""
    group_gate: str = OWN
    """What an error that is not due holds back: `strict` the whole group; `own` itself (and what `mode` adds)."""
    exhausted_blocks: bool = False
    """Does a parked message keep its place in the group, as one that still waits does?"""
    order: str = EVENT_TIME
    batch_size: int = NO_LIMIT
    """How many of each group a run tries: -1 all, 0 none."""
    page_size: int = 1_000
    """How many messages are read and tried together, about: a group that was begun is not cut for it."""

    max_attempts: int = 100
    max_rule: str = REACHED
    """Given up when the maximum is reached, or only when it is exceeded (one more failure)."""
    backoff_base: int | float = 2.0
    backoff_unit: int = 60_000
    backoff_cap: int = 180 * 60_000
    backoff_exponent: str = ATTEMPT_MINUS_ONE
    backoff_cap_on: str = DELAY
    """What the cap bounds: the delay itself, or how old the message may be at its next retry."""
    on_uncertain: str = RETRY
    """A call with an unknown outcome: `retry` (at least once), or `hold` for an operator (at most once)."""

    grace: int | None = None
    """For messages whose channel and policy name none."""
    grace_from: str = EVENT_TIME
    """When a grace time begins: at the event's own time, or at its arrival here."""
    expiration: int | None = None
    """For messages that name none, from ingestion on."""
    encoding: str = "json"
    cluster: bool = True
    lock_at_most: int = 300_000
    error_text_max: int = 9_999
    payload_max: int = 4 * 1_048_576
    retention: int | None = 7 * 86_400_000
    """How long what has ended is kept; None: for ever."""


PRESETS: dict[str, InboxSettings] = {
    "conjoin": InboxSettings(),
    "correlate-docs": InboxSettings(
        mode=ALL,
        group_gate=STRICT,
        exhausted_blocks=True,  # a batch is tried only if each of its errors is due and below the maximum
        grace_from=INGESTION,  # the example's time to live counts from when the message was inserted
        page_size=100,
        backoff_base=180.0,  # as printed: the table of the document gives the cap's figure for the base, too
        backoff_cap_on=AGE,
    ),
    "correlate-code": InboxSettings(group_gate=STRICT, backoff_exponent=ATTEMPT, max_rule=EXCEEDED),
}


def encoding_name(written: str) -> str:
    """The document calls JSON by the name of the library that reads it there."""
    name = written.strip().lower()
    return "json" if name == "jackson" else name


def contradictions(settings: InboxSettings) -> list[str]:
    """Combinations that make no sense: each is one sentence."""
    found: list[str] = []
    if settings.exhausted_blocks and settings.mode == ALL and settings.group_gate == OWN:
        found.append("exhausted_blocks: with mode all and group_gate own nobody waits for anybody else")
    if settings.grace is not None and settings.expiration is not None and settings.grace >= settings.expiration:
        found.append("grace: no error would ever be counted, as the expiration is not later")
    return found

"""Policies: the questions on which the documents of the field disagree, each with a closed set of answers.

A profile names an answer for each question; a message name (or `*`) may change single ones. What is set is read
by `read_policies`, which finds every problem at once and never raises. A message remembers the policy it was
accepted under.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, Final

from conjoin.times.durations import read_duration_ms

_MOST_PROBLEMS = 100
ONCE_PER_PROCESS: Final = "once_per_process"
ONCE_PER_INSTANCE: Final = "once_per_instance"
ALL: Final = "all"
EXACTLY_ONE: Final = "exactly_one"

BUFFER: Final = "buffer"
RETRY: Final = "retry"
REJECT: Final = "reject"
DISCARD: Final = "discard"
WHILE_BUFFERED: Final = "while_buffered"
OFF: Final = "off"
PER_KEY: Final = "per_key"
NONE: Final = "none"
BOTH: Final = "both"
SUBSCRIPTION_FIRST: Final = "subscription_first"
START_ONLY: Final = "start_only"

CHOICES: dict[str, tuple[str, ...]] = {
    "cardinality": (ONCE_PER_PROCESS, ONCE_PER_INSTANCE, ALL, EXACTLY_ONE),
    "on_no_match": (BUFFER, RETRY, REJECT, DISCARD),
    "duplicate_subscription": ("allow", "reject"),
    "on_duplicate": ("refuse", "acknowledge"),
    "start_uniqueness": (PER_KEY, NONE),
    "start_precedence": (BOTH, SUBSCRIPTION_FIRST, START_ONLY),
    "match": ("key", "business_key", "variables"),
}


@dataclass(frozen=True, slots=True)
class Policy:
    """One answer to each question. Durations are milliseconds; None means "none" or "off"."""

    cardinality: str = ONCE_PER_PROCESS
    on_no_match: str = BUFFER
    duplicate_subscription: str = "allow"
    dedup: str | int = WHILE_BUFFERED
    on_duplicate: str = "refuse"
    start_uniqueness: str = PER_KEY
    start_precedence: str = BOTH
    time_to_live: int | None = 0
    grace: int | None = None
    expected: int | None = None
    match: str = "key"
    constraint: Callable[[Any, Any], bool] | None = None
    keeps: bool = field(init=False, default=True)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keeps", self.on_no_match in (BUFFER, RETRY))


PROFILES: dict[str, Policy] = {
    "zeebe": Policy(),
    "zeebe-0.2x": Policy(cardinality=ONCE_PER_INSTANCE),
    "correlate": Policy(
        cardinality=EXACTLY_ONE,
        on_no_match=RETRY,
        dedup=7 * 86_400_000,
        on_duplicate="acknowledge",
        start_uniqueness=NONE,
        start_precedence=SUBSCRIPTION_FIRST,
        time_to_live=None,
        grace=10_000,
        match="variables",
    ),
    "fleans": Policy(
        cardinality=EXACTLY_ONE,
        on_no_match=REJECT,
        duplicate_subscription="reject",
        dedup=OFF,
        start_uniqueness=NONE,
        start_precedence=SUBSCRIPTION_FIRST,
    ),
}


@dataclass(frozen=True, slots=True)
class Policies:
    """The policies in force: one for each message name that has its own, and one for all others."""

    default: Policy = PROFILES["zeebe"]
    by_name: Mapping[str, Policy] = field(default_factory=dict)

    def of(self, name: str) -> Policy:
        return self.by_name.get(name, self.default)


def read_policies(profile: str, changes: Mapping[str, Mapping[str, object]]) -> tuple[Policies, list[str]]:
    """The policies of a profile with changes by message name (or `*`), and every problem found in them."""
    problems: list[str] = []
    if profile not in PROFILES:
        problems.append(f"profile: {profile!r} is none of {', '.join(PROFILES)}")
    default = _changed(PROFILES.get(profile, Policy()), "*", changes.get("*", {}), problems)
    by_name = {name: _changed(default, name, values, problems) for name, values in changes.items() if name != "*"}
    return Policies(default, by_name), problems


def _changed(policy: Policy, name: str, values: Mapping[str, object], problems: list[str]) -> Policy:
    read: dict[str, Any] = {}
    if not isinstance(values, Mapping):
        problems.append(f"policy {name!r}: {values!r} is not a table of policies")
        return policy
    for question, value in values.items():
        if len(problems) > _MOST_PROBLEMS:
            break
        try:
            read[question] = _read_answer(question, value)
        except ValueError as problem:
            problems.append(f"policy {name!r}: {question}: {problem}")
    changed = replace(policy, **read)
    problems.extend(f"policy {name!r}: {problem}" for problem in _contradictions(changed))
    return changed


def _read_answer(question: str, value: object) -> Any:
    """The answer as it is kept; raises `ValueError` with what is wrong with it."""
    if question in CHOICES:
        if value in CHOICES[question]:
            return value
        problem = f"{value!r} is none of {', '.join(CHOICES[question])}"
    elif question == "dedup":
        duration = value if value in (WHILE_BUFFERED, OFF) else read_duration_ms(value)
        if isinstance(duration, str) or (isinstance(duration, int) and duration > 0):
            return duration
        problem = f"{value!r} is not {WHILE_BUFFERED}, {OFF} or a duration such as 7d"
    elif question in ("time_to_live", "grace"):
        duration = None if value in (None, NONE) else read_duration_ms(value)
        if value in (None, NONE) or (isinstance(duration, int) and duration >= 0):
            return duration
        problem = f"{value!r} is not a duration such as 30s, 5m or 1h, nor {NONE!r}"
    elif question == "expected":
        if value in (None, OFF):
            return None
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
        problem = f"{value!r} is neither {OFF!r} nor a number of receivers"
    elif question == "constraint":
        if value in (None, OFF) or callable(value):
            return value if callable(value) else None
        problem = "takes a callable (message, subscription) -> bool, or 'off'"
    else:
        known = ", ".join(f.name for f in fields(Policy) if f.init)
        problem = f"there is no such policy; there are {known}"
    raise ValueError(problem)


def _contradictions(policy: Policy) -> list[str]:
    """Answers that make no sense together: a sentence for each."""
    found: list[str] = []
    if policy.cardinality == EXACTLY_ONE and (policy.expected or 1) > 1:
        found.append(f"expected {policy.expected} receivers, but cardinality exactly_one allows one")
    if policy.dedup == OFF and policy.on_duplicate == "acknowledge":
        found.append("on_duplicate acknowledge needs ids to be remembered, but dedup is off")
    return found

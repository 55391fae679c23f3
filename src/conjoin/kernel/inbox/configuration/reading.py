"""Reading settings: a preset with changes, as a configuration file holds them, into `InboxSettings`.

Every problem is found at once, as one sentence that begins with the name of its setting. A value that is wrong
leaves the preset's in place, so the answer can always be used.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from difflib import get_close_matches
from typing import Any

from conjoin.kernel.inbox.settings import (
    CHOICES,
    EVENT_TIME,
    EXPRESSION_MARK,
    MESSAGE_ID,
    PRESETS,
    InboxSettings,
    contradictions,
)
from conjoin.kernel.storable import LARGEST_INT64
from conjoin.times.durations import read_span_ms

NONE = "none"
NAMES = tuple(field.name for field in fields(InboxSettings))

_DURATIONS_MIN_MS = {
    "poll_interval": 1,
    "poll_initial_delay": 0,
    "cleanup_interval": 1,
    "cleanup_initial_delay": 0,
    "backoff_unit": 1,
    "backoff_cap": 1,
    "lock_at_most": 1,
}
_OPTIONAL_DURATIONS = ("grace", "expiration", "retention")
_NUMBERS_MIN = {"batch_size": -1, "page_size": 1, "max_attempts": 0, "error_text_max": 1, "payload_max": 1}
_WHOLE_NUMBER = re.compile(r"\s*-?[0-9]{1,18}\s*")
_FLAGS = ("enabled", "cluster", "exhausted_blocks")
_TRUTHS = {"true": True, "false": False, "on": True, "off": False, "yes": True, "no": False}
_ENCODINGS = {"jackson": "json"}
"""The document calls JSON by the name of the library that reads it there."""

# What a reader answers with: the value, or a sentence that says why there is none.
Read = tuple[Any, str | None]


def read_settings(preset: str, changes: Mapping[str, object]) -> tuple[InboxSettings, list[str]]:
    """The settings of a preset with changes, and every problem found in them."""
    problems: list[str] = []
    if preset not in PRESETS:
        problems.append(f"preset: {preset!r} is none of {', '.join(PRESETS)}")
    read: dict[str, Any] = {}
    for name, given in changes.items():
        value, problem = _read(name, given)
        if problem is None:
            read[name] = value
        else:
            problems.append(f"{name}: {problem}")
    settings = replace(PRESETS.get(preset, InboxSettings()), **read)
    return settings, problems + contradictions(settings)


def read_encoding(value: object) -> Read:
    if not isinstance(value, str) or not value.strip():
        return None, f"{value!r} is not the name of an encoding, such as json"
    name = value.strip().lower()
    return _ENCODINGS.get(name, name), None


def read_optional_duration(value: object) -> Read:
    if value is None or value == NONE:
        return None, None
    span = read_span_ms(value)
    return span, None if span is not None else f"{value!r} is not a duration such as 10s or PT10S, nor {NONE!r}"


def read_flag(value: object) -> Read:
    truth = value if isinstance(value, bool) else _TRUTHS.get(value.lower()) if isinstance(value, str) else None
    return truth, None if truth is not None else f"{value!r} is neither true nor false"


def _read(name: str, value: object) -> Read:
    if name in CHOICES:
        return value, None if value in CHOICES[name] else f"{value!r} is none of {', '.join(CHOICES[name])}"
    if name in _DURATIONS_MIN_MS:
        return _read_duration(value, _DURATIONS_MIN_MS[name])
    if name in _NUMBERS_MIN:
        return _read_number(value, _NUMBERS_MIN[name])
    reader = _READERS.get(name)
    return reader(value) if reader else (None, _unknown(name))


def _read_duration(value: object, least_ms: int) -> Read:
    span = read_span_ms(value)
    if span is None:
        return None, f"{value!r} is not a duration such as 30s, 5m or PT30S"
    return span, None if span >= least_ms else "must be longer than nothing"


def _read_number(value: object, least: int) -> Read:
    number = value
    if isinstance(value, str) and _WHOLE_NUMBER.fullmatch(value):
        number = int(value)
    if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= LARGEST_INT64:
        return None, f"{value!r:.60} is not a whole number of at least {least}"
    return number, None


def _read_base(value: object) -> Read:
    try:
        base = math.nan if isinstance(value, bool) else float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        base = math.nan
    # Below 1 the delays would become shorter with every error.
    return base, None if 1 <= base < math.inf else f"{value!r} is not a number of at least 1"


def _read_order(value: object) -> Read:
    known = isinstance(value, str) and (value in (EVENT_TIME, MESSAGE_ID) or value.startswith(EXPRESSION_MARK))
    return value, None if known else f"{value!r} is none of {EVENT_TIME}, {MESSAGE_ID}, or an expression such as = seq"


def _unknown(name: str) -> str:
    near = get_close_matches(name, NAMES, n=1)
    return "there is no such setting" + (f"; did you mean {near[0]!r}?" if near else "")


_READERS: dict[str, Callable[[object], Read]] = {
    "backoff_base": _read_base,
    "encoding": read_encoding,
    "order": _read_order,
    **dict.fromkeys(_OPTIONAL_DURATIONS, read_optional_duration),
    **dict.fromkeys(_FLAGS, read_flag),
}

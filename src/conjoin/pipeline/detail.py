"""Details: the parameters of a verdict's reason as a JSON object, with instants as people write them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANTS = ("deadline_at", "until_at", "first_published_at")
_encode = msgspec.json.Encoder().encode


def iso(instant: int) -> str:
    """2026-01-31T08:00:00Z, or `never` and `always` beyond the calendar."""
    try:
        return (_EPOCH + timedelta(microseconds=instant)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return "never" if instant > 0 else "always"


def detail_of(verdict: str, told: dict[str, Any]) -> bytes:
    """The parameters of a verdict; those of a correlation hold no instants."""
    return _encode(told) if verdict == "correlated" else detail_text(told)


def detail_text(told: dict[str, Any]) -> bytes:
    for name in _INSTANTS:
        if name in told:
            told[name] = iso(told[name])
    told.pop("first_message", None)
    return _encode(told)

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


def detail_text(told: dict[str, Any]) -> str:
    for name in _INSTANTS:
        if name in told:
            told[name] = iso(told[name])
    told.pop("first_message", None)
    return _encode(told).decode()

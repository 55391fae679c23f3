"""Details: the parameters of a verdict's reason as a JSON object, with instants as people write them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANTS = ("deadline_at", "until_at", "first_published_at")
encode = msgspec.json.Encoder().encode


def iso(instant: int) -> str:
    """2026-01-31T08:00:00Z, or `never` and `always` beyond the calendar."""
    try:
        return (_EPOCH + timedelta(microseconds=instant)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return "never" if instant > 0 else "always"


def detail_text(verdict: str, told: dict[str, Any]) -> bytes:
    """The parameters as JSON; those of a correlation hold no instants."""
    return encode(told if verdict == "correlated" else shown(told, iso))


def shown(told: dict[str, Any], write: Callable[[int], str]) -> dict[str, Any]:
    """The parameters that a reader of tables can use."""
    return {
        name: write(value) if name in _INSTANTS else value for name, value in told.items() if name != "first_message"
    }

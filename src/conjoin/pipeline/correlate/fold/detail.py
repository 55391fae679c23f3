"""Details: the parameters of a verdict's reason as a JSON object, with instants as people write them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_INSTANTS = ("deadline_at", "until_at", "first_published_at")
_SECOND = 1_000_000
_FIRST, _LAST = (int((datetime(year, 1, 1, tzinfo=UTC) - _EPOCH).total_seconds()) * _SECOND for year in (1000, 9999))
_NEEDS_ESCAPE = '["\\\\\\x00-\\x1f]'
encode = msgspec.json.Encoder().encode


def iso(instant: int) -> str:
    """2026-01-31T08:00:00Z, or `never` and `always` beyond the calendar."""
    try:
        return (_EPOCH + timedelta(microseconds=instant)).isoformat().replace("+00:00", "Z")
    except OverflowError:
        return "never" if instant > 0 else "always"


def isos(instants: np.ndarray) -> pa.Array:
    """The same of many: all within these centuries are written by Arrow."""
    if len(instants) == 0 or instants.min() < _FIRST or instants.max() > _LAST:
        return pa.array([iso(at) for at in instants.tolist()], pa.string())
    whole = instants % _SECOND == 0
    texts = pa.array(instants // _SECOND).cast(pa.timestamp("s")).cast(pa.string())
    if not whole.all():
        texts = pc.if_else(pa.array(whole), texts, pa.array(instants).cast(pa.timestamp("us")).cast(pa.string()))
    return pc.binary_join_element_wise(pc.replace_substring(texts, " ", "T"), "Z", "")


def detail_text(verdict: str, told: dict[str, Any]) -> bytes:
    """The parameters as JSON; those of a correlation hold no instants."""
    return encode(told if verdict == "correlated" else shown(told, iso))


def shown(told: dict[str, Any], write: Callable[[int], str]) -> dict[str, Any]:
    """The parameters that a reader of tables can use."""
    return {
        name: write(value) if name in _INSTANTS else value for name, value in told.items() if name != "first_message"
    }


def are_written_as_they_are(column: pa.Array | None, count: int) -> np.ndarray:
    """Which texts stand in JSON as they are. The bytes of all are looked at first: seldom one needs more."""
    if column is None:
        return np.ones(count, dtype=bool)
    _, offsets, content = column.buffers()
    bounds = np.frombuffer(offsets, dtype=np.int32)[column.offset : column.offset + len(column) + 1]
    octets = np.frombuffer(content, dtype=np.uint8)[bounds[0] : bounds[-1]] if content else np.array([], np.uint8)
    if not ((octets < 0x20) | (octets == ord('"')) | (octets == ord("\\"))).any():
        return np.ones(count, dtype=bool)
    needs = pc.fill_null(pc.match_substring_regex(column, _NEEDS_ESCAPE), False)
    return ~needs.to_numpy(zero_copy_only=False)

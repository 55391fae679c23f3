"""A dead letter: a row that never became a message, with the reason and its raw bytes. Nothing is thrown away."""

from typing import NamedTuple

REASONS = (
    *("unreadable", "missing_name", "missing_time", "bad_type", "bad_time", "bad_variables", "too_large", "bad_ttl"),
    *("duplicate_position", "late", "unknown_tenant", "not_carried_out"),
)
MOST_RAW_BYTES = 64 * 1024
"""Of a row that is too large the beginning is kept."""


class DeadLetter(NamedTuple):
    """`part` and `position` say where in its source the row is."""

    source: str
    part: str
    position: int
    reason: str
    text: str
    raw: bytes

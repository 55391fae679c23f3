"""Schemas of what is told about the fate of a message; the values are those of `runtime.explain.explanation`."""

from collections.abc import Sequence
from typing import Any

from conjoin.gateway.rest.openapi.schemas import OBJECT, Schema, array, closed, nullable, record, whole
from conjoin.runtime.explain.explanation import Attempt, Explanation, MessageFacts, StillBuffered

ATTEMPT: Schema = record(Attempt)
_KNOWN_ATTEMPT = closed(ATTEMPT["properties"], ["outcome", "offered_at"])
"""Of an explanation: without what is not known."""
EXPLANATION: dict[str, Any] = record(
    Explanation,
    message=record(MessageFacts),
    attempts=array(_KNOWN_ATTEMPT),
    near_misses=array(OBJECT),
    still_buffered=nullable(record(StillBuffered)),
)


def fate(names: Sequence[str]) -> dict[str, Any]:
    """Of an explanation only these."""
    return whole({name: EXPLANATION["properties"][name] for name in names})

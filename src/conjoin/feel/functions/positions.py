"""Positions as FEEL counts them: the first is 1, the last is -1, and there is no 0."""

from collections.abc import Sequence
from typing import Any

from conjoin.feel.numbers import Number, as_int


def index_of(position: Number, count: int) -> int | None:
    """The index of a position among so many items; None when there is none."""
    wanted = as_int(position)
    if not wanted or abs(wanted) > count:
        return None
    return wanted - 1 if wanted > 0 else count + wanted


def part(whole: Sequence[Any], start: Number, length: Number | None = None) -> Any:
    """So many items, or characters, from a position on; what lies beyond the end is left out."""
    first = as_int(start)
    count = len(whole) if length is None else as_int(length)
    if not first or count is None or count < 0:
        return None
    begin = first - 1 if first > 0 else max(len(whole) + first, 0)
    return whole[begin : begin + count]

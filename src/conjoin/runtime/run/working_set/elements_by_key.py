"""In which instance an element instance is, by its key alone. Nothing is written for this, and no table is walked.

A scope or a call activity has a row. What was entered soon after its instance began is in one of the few with keys just
below. Of all others the log tells in which scope they were entered: keys only grow, so the block is found by halving.
Before the beginning of the log (it was cut, or the store was resharded) instances that old are looked into.
"""

from collections.abc import Sequence
from typing import Any

from conjoin.kernel.keys import COUNTER_BITS
from conjoin.runtime.run.log import raw_entries
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot

NEAR = 64
"""So far above the key of an instance its own elements are looked for."""
_FIRST_KEY = 1 << COUNTER_BITS
_Entry = list[Any]


def instances_with_elements(snapshot: ShardSnapshot, keys: Sequence[int]) -> list[int]:
    """The active instances that may hold them; few for each, however many there are."""
    found = snapshot.instances_of(t.SCOPE, keys)
    others = (key for key in keys if key not in found)
    return [*found.values(), *(instance for key in others for instance in _looked_for(snapshot, key))]


def _looked_for(snapshot: ShardSnapshot, key: int) -> Sequence[int]:
    if key < _FIRST_KEY:
        return ()
    near = snapshot.instances_mentioning(key, key - NEAR)
    return near or _told_by_log(snapshot, key)


def _told_by_log(snapshot: ShardSnapshot, key: int) -> Sequence[int]:
    first, last = snapshot.log_ends()
    entry = _entry_that_used(snapshot, key, first, last) if first else None
    if entry is None:
        return () if first == 1 else snapshot.instances_mentioning(key, 0)
    events = entry[3]
    scopes = {value for event in events if key in event for value in event if _is_key(value)}
    held = snapshot.instances_of(t.SCOPE, sorted(scopes)).values()
    return snapshot.those_mentioning(key, sorted({*scopes, *held}))


def _is_key(value: Any) -> bool:
    return isinstance(value, int) and value >= _FIRST_KEY


def _entry_that_used(snapshot: ShardSnapshot, key: int, low: int, high: int) -> _Entry | None:
    """The last one that began when the key was still free; None where the log begins later."""
    found = None
    while low <= high:
        middle = (low + high) // 2
        block = snapshot.log_from(middle)
        entries = raw_entries(block[1]) if block is not None else []
        if block is None or entries[0][2] > key:
            high = middle - 1
        else:
            found, low = entries, block[0] + 1
    # Of two that began with the same key, the first has used none.
    return None if found is None else next(entry for entry in reversed(found) if entry[2] <= key)

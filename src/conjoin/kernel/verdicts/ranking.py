"""The order of near misses: the likeliest cause first, three at most, and nothing where nothing speaks for it.

The one place for stores, tables and inboxes. First what the rules say of this very message (a lock, a receiver that is
busy), then who waited for exactly this but not now (began later, stopped before, will wait), then who waits for nearly
this, by how little it takes to mistake one for the other.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from conjoin.kernel.verdicts.similar_keys import CLOSEST_FIRST, OTHERWISE
from conjoin.kernel.verdicts.slips import CUT, DIGIT, LETTER, SWAPPED, SWAPPED_DIGITS

MOST_TOLD = 3

_KEYS = (*CLOSEST_FIRST, SWAPPED, LETTER, SWAPPED_DIGITS, DIGIT, CUT)
ORDER = (
    *("lock_held", "business_id_held", "busy", "taken_by_process", "other_business_id", "constraint"),
    *("expired_before", "too_early", "closed_before", "incident", "other_tenant"),
    *("name written differently", "key written differently", "name misspelled", "key with a slip"),
    *("other_name", "never_awaited"),
)
_WRITTEN = frozenset(CLOSEST_FIRST)
QUITE_ANOTHER, MISSPELLED, VERSION = "name", "spelling", "version"
"""How two names differ that are not the same without case and blanks; or they are those of two versions of a model."""

Miss = Mapping[str, Any]


def place_of(miss: Miss) -> tuple[int, int]:
    """By which near misses are sorted: the smaller, the likelier."""
    kind, differs = miss["kind"], miss.get("differs")
    if kind == "other_key":
        kind = "key written differently" if differs in _WRITTEN else "key with a slip"
        return ORDER.index(kind), _KEYS.index(differs) if differs in _KEYS else len(_KEYS)
    if kind == "other_name" and differs != QUITE_ANOTHER:
        kind = "name misspelled" if differs in (MISSPELLED, VERSION) else "name written differently"
    return ORDER.index(kind), 0


def told(misses: Iterable[Miss]) -> list[Miss]:
    """Those that are shown. Somebody who will wait for this name on the same key does not wait for a wrong one."""
    some = [miss for miss in misses if miss["kind"] != "other_key" or miss.get("differs") != OTHERWISE]
    expecting = {miss.get("instance") for miss in some if miss["kind"] in ("too_early", "closed_before")}
    some = [
        miss
        for miss in some
        if not (miss["kind"] == "other_name" and miss.get("differs") == QUITE_ANOTHER and _has(expecting, miss))
    ]
    return sorted(some, key=place_of)[:MOST_TOLD]


def _has(instances: set[Any], miss: Miss) -> bool:
    return miss.get("instance") in instances

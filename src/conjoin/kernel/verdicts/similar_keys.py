"""Correlation keys that are easily taken for one another: in what two differ, and by which forms they are found.

`difference` says what a near miss is; nothing else does. `forms_of` brings together what it may find near: of two keys
that it does not call different, the whole form of one equals a form of the other. So a table can be joined by equality,
and an index can be asked.
"""

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

CASE_OR_BLANKS, QUOTES, NUMBER, PREFIX, OTHERWISE = "case or blanks only", "quotes only", "number", "prefix", "key"

_NUMBER = re.compile(r"([+-]?)0*(\d{1,40})(\.\d*)?")
_PREFIX = re.compile(r"[^\W\d_]+(?:[-_:/#.]+|(?=\d))(.+)", re.DOTALL)
"""Letters, then what separates them from the rest, or its first digit: `order-7`, `ORD0007`."""


class Awaited(NamedTuple):
    """A name and key for which somebody waits, and who."""

    name: str
    key: str
    process_id: str | None
    instance_id: Any
    element_id: str | None


def folded(text: str) -> str:
    """Without case and blanks."""
    return "".join(text.split()).casefold()


def forms_of(key: str) -> tuple[str, str | None]:
    """A key without what is easily mistaken, as a whole and without its prefix if it has one."""
    bare = _unquoted(folded(key))
    prefixed = _PREFIX.fullmatch(bare)
    return _number(bare) or bare, (_number(prefixed[1]) or prefixed[1]) if prefixed else None


def difference(key: str, other: str) -> str:
    """What two different keys differ in."""
    if folded(key) == folded(other):
        return CASE_OR_BLANKS
    if _unquoted(key) == _unquoted(other):
        return QUOTES
    number = _number(key)
    if number is not None and number == _number(other):
        return NUMBER
    (whole, rest), (other_whole, other_rest) = forms_of(key), forms_of(other)
    return PREFIX if rest == other_whole or whole == other_rest else OTHERWISE


def variants(key: str) -> tuple[str, ...]:
    """Other ways to write a key, as far as they can be listed."""
    bare = _unquoted(key).strip()
    ways = [bare, key.strip(), bare.lower(), bare.upper(), _number(bare), f'"{bare}"']
    return tuple({way: None for way in ways if way is not None and way != key})


def other_key(name: str, key: str, awaited: Awaited) -> dict[str, Any]:
    """The near miss of a message with this name and key: somebody waits with another one."""
    miss = {"kind": "other_key", "key": awaited.key, "differs": difference(key, awaited.key)}
    who = {"process": awaited.process_id, "instance": awaited.instance_id, "element": awaited.element_id}
    return miss | ({} if awaited.name == name else {"name": awaited.name}) | who


def almost(name: str, key: str, others: Sequence[Awaited]) -> list[tuple[dict[str, Any], Awaited]]:
    """Of those that wait for this name, in whatever case, the ones whose key is nearly this one, the nearest first."""
    found = []
    for awaited in others:
        if awaited.key != key and folded(awaited.name) == folded(name):
            miss = other_key(name, key, awaited)
            if miss["differs"] != OTHERWISE:
                found.append((miss, awaited))
    return sorted(found, key=lambda pair: ("name" in pair[0], _CLOSEST_FIRST.index(pair[0]["differs"])))


_CLOSEST_FIRST = (CASE_OR_BLANKS, QUOTES, NUMBER, PREFIX)


def _unquoted(key: str) -> str:
    bare = key.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


def _number(key: str) -> str | None:
    """A key that is a number waits as its integer part."""
    match = _NUMBER.fullmatch(key.strip())
    if match is None:
        return None
    return f"-{match[2]}" if match[1] == "-" and match[2] != "0" else match[2]

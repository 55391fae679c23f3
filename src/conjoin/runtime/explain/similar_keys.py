"""Correlation keys that are easily taken for one another: case, blanks, quotes, a number and its text."""

import re

CASE_OR_BLANKS, QUOTES, NUMBER, OTHERWISE = "case or blanks only", "quotes only", "number", "key"

_NUMBER = re.compile(r"([+-]?)0*(\d{1,40})(\.\d*)?")


def difference(key: str, other: str) -> str:
    """What two different keys differ in."""
    if _folded(key) == _folded(other):
        return CASE_OR_BLANKS
    if _unquoted(key) == _unquoted(other):
        return QUOTES
    number = _number(key)
    return NUMBER if number is not None and number == _number(other) else OTHERWISE


def variants(key: str) -> tuple[str, ...]:
    """Other ways to write a key, as far as they can be listed."""
    bare = _unquoted(key).strip()
    ways = [bare, key.strip(), bare.lower(), bare.upper(), _number(bare), f'"{bare}"']
    return tuple({way: None for way in ways if way is not None and way != key})


def _folded(key: str) -> str:
    return "".join(key.split()).casefold()


def _unquoted(key: str) -> str:
    bare = key.strip()
    return bare[1:-1] if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "\"'" else bare


def _number(key: str) -> str | None:
    """A key that is a number waits as its integer part."""
    match = _NUMBER.fullmatch(key.strip())
    if match is None:
        return None
    return f"-{match[2]}" if match[1] == "-" and match[2] != "0" else match[2]

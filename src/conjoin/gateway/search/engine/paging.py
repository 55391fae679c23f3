"""Pages of a search: what a client asked for, and cursors. A cursor is a text without a meaning to whoever gets it.

Inside is where an item stands in the order that was asked for. It belongs to one search and one order.
"""

import json
from base64 import b64decode, b64encode
from typing import Any, NamedTuple

from conjoin.errors import InputError
from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.reading.cursors import is_storable_part

DEFAULT_LIMIT, LARGEST_LIMIT = 100, 10_000
_NAMES = ("limit", "from", "after", "before")


class PageRequest(NamedTuple):
    """One of `first` (skip so many), `after` and `before` says where it is: it begins after, or ends before."""

    limit: int = DEFAULT_LIMIT
    first: int = 0
    after: str | None = None
    before: str | None = None


def read_page(said: Any) -> PageRequest:
    """Raises `InputError` with all that is wrong."""
    if said is None:
        return PageRequest()
    if not isinstance(said, dict):
        raise InputError(["page is an object with a limit, and from, after or before"])
    given = {name: value for name, value in said.items() if value is not None}
    problems = [f"Request property [page.{name}] cannot be parsed" for name in given if name not in _NAMES]
    problems += _wrong_number(given, "limit", 1, LARGEST_LIMIT) + _wrong_number(given, "from", 0, LARGEST_LIMIT)
    problems += [f"page.{name} is a text" for name in ("after", "before") if not isinstance(given.get(name, ""), str)]
    if sum(name in given for name in _NAMES[1:]) > 1:
        problems.append("page.from, page.after and page.before exclude each other")
    if problems:
        raise InputError(problems)
    limit = given.get("limit", DEFAULT_LIMIT)
    return PageRequest(limit, given.get("from", 0), given.get("after") or None, given.get("before") or None)


def _wrong_number(given: dict[str, Any], name: str, least: int, largest: int) -> list[str]:
    value = given.get(name, least)
    if type(value) is int and least <= value <= largest:
        return []
    return [f"The value for page.{name} is {value!r:.40} but must be a whole number from {least} to {largest}"]


def cursor_of(which: str, place: tuple[Any, ...]) -> str:
    """`which` names the search and its order."""
    return b64encode(json.dumps([which, *place], separators=(",", ":")).encode()).decode()


def place_of(which: str, cursor: str, types: list[type]) -> tuple[Any, ...]:
    """Raises `InputError` for what is no cursor of this search."""
    try:
        name, *place = read_client_json(b64decode(cursor, validate=True))
    except (*NOT_JSON, ValueError, TypeError):
        name, place = None, []
    if name != which or not _are(place, types):
        raise InputError([f"{cursor!r:.60} is no cursor of this search in this order: take one that a page of it gave"])
    return tuple(place)


def _are(place: list[Any], types: list[type]) -> bool:
    return len(place) == len(types) and all(
        kind is object or (type(it) is kind and is_storable_part(it)) for it, kind in zip(place, types, strict=True)
    )

"""Symbols: what stands in an answer for the values that differ from history to history."""

import re
from dataclasses import dataclass
from typing import Any

SIGN, STOP = "\ue000", "\ue001"
ELEMENT = "start"
"""In the place of a slot: the text is the element of a start event that the history meets, by its number."""

_SYMBOL = re.compile(f"({SIGN}(?:[a-z]+{STOP})?[0-9]+)")


@dataclass(frozen=True, slots=True)
class Text:
    """The text in a slot of a row of the history."""

    slot: str
    row: int


@dataclass(frozen=True, slots=True)
class Started:
    """The name of an instance that a message of the history starts: the so-manieth."""

    number: int


@dataclass(frozen=True, slots=True)
class Instant:
    """One of the pattern's instants, by its place."""

    place: int


@dataclass(frozen=True, slots=True)
class Iso:
    """An instant as people write it."""

    place: int


@dataclass(frozen=True, slots=True)
class Elapsed:
    """The milliseconds from one instant to another."""

    start: int
    end: int


def symbol(slot: str, row: int) -> str:
    """As it stands in texts. With leading zeros: symbols are in order as their numbers are."""
    return f"{SIGN}{slot}{STOP}{row:05d}"


def read_symbol(text: str) -> Text | Started:
    slot, stop, row = text.removeprefix(SIGN).partition(STOP)
    return Text(slot, int(row)) if stop else Started(int(slot))


def read_symbols(text: str) -> tuple[Any, ...]:
    """A text that symbols may be part of."""
    parts: list[Any] = _SYMBOL.split(text)
    parts[1::2] = [read_symbol(part) for part in parts[1::2]]
    return tuple(part for part in parts if part != "")

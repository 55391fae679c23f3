"""`$like`: whether a text is as a pattern says, where * is any characters, ? is one, and a backslash takes the meaning.

The cost grows with the text and hardly with the pattern, whatever both are: what stands between two asterisks is of a
fixed length, and is looked for at all places of a block at once, as bits of one large number. Between two blocks other
threads have their turn.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_PARTS = re.compile(r"\\.|\\|\*|\?|[^\\*?]", re.DOTALL)
_BLOCK = 1 << 16
_FEW = _BLOCK >> 7
"""So few places are looked at one by one. There are more only while the letters seen so far are of fewer kinds."""


class Segment(NamedTuple):
    """What stands between two asterisks: its characters with their places; those without one may be any."""

    letters: Sequence[tuple[int, str]]
    length: int
    runs: Sequence[tuple[int, str]]
    """The same, joined where nothing is between them."""

    @property
    def is_literal(self) -> bool:
        return len(self.letters) == self.length

    def is_at(self, text: str, place: int) -> bool:
        if place < 0 or place + self.length > len(text):
            return False
        return all(text.startswith(run, place + offset) for offset, run in self.runs)

    def end_of_first(self, text: str, start: int) -> int:
        """Where its first place from `start` on ends; -1 if it has none."""
        if self.is_literal:
            place = text.find(self.runs[0][1] if self.runs else "", start)
            return place if place < 0 else place + self.length
        places = len(text) - self.length + 1
        for begin in range(start, places, _BLOCK):
            count = min(_BLOCK, places - begin)
            found = self._first(text[begin : begin + count + self.length - 1], count)
            if found >= 0:
                return begin + found + self.length
        return -1

    def _first(self, block: str, count: int) -> int:
        """The first of so many places, all tried together; a bit stands for each that is still possible."""
        possible = (1 << count) - 1
        kinds = {letter: number for number, letter in enumerate(dict.fromkeys(letter for _, letter in self.letters), 1)}
        numbered = _numbered(block, kinds)
        masks: dict[str, int] = {}
        for offset, letter in self.letters:
            if possible.bit_count() <= _FEW:
                return self._first_of_few(block, possible)
            if letter not in masks:
                masks[letter] = _places_of(kinds[letter], numbered)
            possible &= masks[letter] >> offset
        return _lowest(possible)

    def _first_of_few(self, block: str, possible: int) -> int:
        while possible:
            place = _lowest(possible)
            if self.is_at(block, place):
                return place
            possible &= possible - 1
        return -1


def _numbered(block: str, kinds: dict[str, int]) -> bytes:
    """A byte for each character, the last one first: the number of its kind, 0 for what the pattern does not have.

    More kinds than a byte can tell are never asked for: no block has each of so many letters more than a few times.
    """
    table = {ord(character): kinds.get(character, 0) & 0xFF for character in set(block)}
    return block[::-1].translate(table).encode("latin-1")


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _places_of(kind: int, numbered: bytes) -> int:
    """A number with a bit for each place of a kind of letter, that of the first place the lowest."""
    table = bytearray(b"0" * 256)
    table[kind & 0xFF] = ord("1")
    return int(numbered.translate(table), 2)


@lru_cache(maxsize=64)
def _segments(pattern: str) -> list[Segment]:
    segments: list[list[str | None]] = [[]]
    for part in _PARTS.findall(pattern):
        if part == "*":
            segments.append([])
        else:
            segments[-1].append(None if part == "?" else part[-1])
    return [_segment(characters) for characters in segments]


def _segment(characters: Sequence[str | None]) -> Segment:
    letters = [(offset, letter) for offset, letter in enumerate(characters) if letter is not None]
    runs: list[tuple[int, str]] = []
    for offset, letter in letters:
        if runs and runs[-1][0] + len(runs[-1][1]) == offset:
            runs[-1] = (runs[-1][0], runs[-1][1] + letter)
        else:
            runs.append((offset, letter))
    return Segment(letters, len(characters), runs)


def is_like(value: str, pattern: str) -> bool:
    first, *others = _segments(pattern)
    if not others:
        return len(value) == first.length and first.is_at(value, 0)
    if not first.is_at(value, 0):
        return False
    end = first.length
    for segment in others[:-1]:
        end = segment.end_of_first(value, end)
        if end < 0:
            return False
    # The last one stands at the end, behind all others.
    last = others[-1]
    return len(value) - last.length >= end and last.is_at(value, len(value) - last.length)

"""`$like`: whether a text matches a pattern, where * is any characters, ? is one, and a backslash escapes.

The cost grows with the text and hardly with the pattern, whatever both are: what is between two asterisks has a fixed
length, and is looked for at all positions of a block at once, as bits of one large number. Between two blocks other
threads can run.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

_PARTS = re.compile(r"\\.|\\|\*|\?|[^\\*?]", re.DOTALL)
_BLOCK = 1 << 16
_FEW = _BLOCK >> 7
"""So few positions are tried one by one. There are more only while the letters seen so far are of fewer kinds."""


class Segment(NamedTuple):
    """What is between two asterisks: its letters with their offsets; at other offsets any character will do."""

    letters: Sequence[tuple[int, str]]
    length: int
    runs: Sequence[tuple[int, str]]
    """The same, joined where nothing is between them."""

    def is_at(self, text: str, start: int) -> bool:
        if start < 0 or start + self.length > len(text):
            return False
        return all(text.startswith(run, start + offset) for offset, run in self.runs)

    def end_of_first(self, text: str, start: int) -> int:
        """The end of its first match from `start` on; -1 if there is none."""
        if len(self.letters) == self.length:
            found = text.find(self.runs[0][1] if self.runs else "", start)
            return found if found < 0 else found + self.length
        starts = len(text) - self.length + 1
        for begin in range(start, starts, _BLOCK):
            count = min(_BLOCK, starts - begin)
            found = self._first(text[begin : begin + count + self.length - 1], count)
            if found >= 0:
                return begin + found + self.length
        return -1

    def _first(self, block: str, count: int) -> int:
        """The first of so many positions, all tried together; a bit stands for each that is still possible."""
        possible = (1 << count) - 1
        kinds = {letter: number for number, letter in enumerate(dict.fromkeys(letter for _, letter in self.letters), 1)}
        # A byte for each character, the last one first: the number of its kind, 0 for what the pattern does not have.
        # More kinds than a byte has are never used: no block has each of so many letters more than a few times.
        numbers = {ord(character): kinds.get(character, 0) & 0xFF for character in set(block)}
        numbered = block[::-1].translate(numbers).encode("latin-1")
        masks: dict[str, int] = {}
        for offset, letter in self.letters:
            if possible.bit_count() <= _FEW:
                while possible and not self.is_at(block, _lowest(possible)):
                    possible &= possible - 1
                break
            if letter not in masks:
                # A bit for each position of the letter, that of the first position the lowest.
                table = bytearray(b"0" * 256)
                table[kinds[letter] & 0xFF] = ord("1")
                masks[letter] = int(numbered.translate(table), 2)
            possible &= masks[letter] >> offset
        return _lowest(possible)


def _lowest(bits: int) -> int:
    """-1: there is none."""
    return (bits & -bits).bit_length() - 1


@lru_cache(maxsize=64)
def _segments(pattern: str) -> list[Segment]:
    found: list[list[str | None]] = [[]]
    for part in _PARTS.findall(pattern):
        if part == "*":
            found.append([])
        else:
            found[-1].append(None if part == "?" else part[-1])
    segments = []
    for characters in found:
        letters = [(offset, letter) for offset, letter in enumerate(characters) if letter is not None]
        runs: list[tuple[int, str]] = []
        for offset, letter in letters:
            if runs and runs[-1][0] + len(runs[-1][1]) == offset:
                runs[-1] = (runs[-1][0], runs[-1][1] + letter)
            else:
                runs.append((offset, letter))
        segments.append(Segment(letters, len(characters), runs))
    return segments


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
    # The last one is at the end, behind all others.
    last = others[-1]
    return len(value) - last.length >= end and last.is_at(value, len(value) - last.length)

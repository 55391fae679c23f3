"""Matching without backtracking: all ways through a pattern advance together, one character at a time.

So a text of n characters costs at most n times the size of the pattern, whatever the pattern: `(a+)+b` cannot hang.
Of several matches the leftmost is found, and of those the one that backtracking would have found first: ways are
kept in the order of preference, and a way behind another at the same instruction is dropped.
"""

from collections.abc import Iterator
from functools import lru_cache

from conjoin.feel.budget import Budget
from conjoin.feel.patterns.characters import is_word
from conjoin.feel.patterns.program import CHECK, FORK, MATCH, SAVE, Program, program_of

STEP = 8
"""The work of one instruction."""

Spans = tuple[int, ...]
"""Start and end of the match, then of each group; -1 where a group took no part."""

Way = tuple[int, Spans]
"""At which instruction a way through the pattern is, and what it has saved."""


class Machine:
    """A pattern over one text; what it does is paid from the budget of the evaluation."""

    def __init__(self, program: Program, text: str, budget: Budget) -> None:
        self._program = program
        self._text = text
        self._budget = budget
        self._step = STEP + program.groups // 4 + program.widest

    def matches(self) -> Iterator[Spans]:
        """All matches from left to right, none overlapping the one before."""
        position = 0
        while position <= len(self._text):
            spans = self.search(position)
            if spans is None:
                return
            yield spans
            position = spans[1] if spans[1] > spans[0] else spans[1] + 1

    def search(self, position: int) -> Spans | None:
        """The leftmost match at or after a position."""
        found: Spans | None = None
        ways: list[Way] = []
        nothing = (-1,) * (2 * self._program.groups + 2)
        while True:
            seen: set[int] = set()
            here: list[Way] = []
            for instruction, spans in ways:
                self._follow(here, seen, instruction, spans, position)
            if found is None:
                self._follow(here, seen, 0, nothing, position)
            ways, found = self._advance(here, position, found)
            if not ways and (found is not None or position >= len(self._text)):
                return found
            position += 1

    def _advance(self, here: list[Way], position: int, found: Spans | None) -> tuple[list[Way], Spans | None]:
        """The ways that take the next character; a way that has matched ends those it is preferred to."""
        character = self._text[position : position + 1]
        onward: list[Way] = []
        for instruction, spans in here:
            operation = self._program.instructions[instruction]
            if operation[0] == MATCH:
                return onward, spans
            if character and operation[1](character):
                onward.append((instruction + 1, spans))
        return onward, found

    def _follow(self, here: list[Way], seen: set[int], start: int, spans: Spans, position: int) -> None:
        """Everything that can be reached without taking a character, in the order of preference."""
        waiting = [(start, spans)]
        while waiting:
            at, spans = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            self._budget.work(self._step)
            kind, argument = self._program.instructions[at]
            if kind == FORK:
                waiting.extend((target, spans) for target in reversed(argument))
            elif kind == SAVE:
                waiting.append((at + 1, (*spans[:argument], position, *spans[argument + 1 :])))
            elif kind == CHECK:
                if self._holds(argument, position):
                    waiting.append((at + 1, spans))
            else:
                here.append((at, spans))

    def _holds(self, assertion: str, position: int) -> bool:
        text, end = self._text, len(self._text)
        if assertion in "bB":
            return (is_word(text, position - 1) != is_word(text, position)) == (assertion == "b")
        if assertion in "^A":
            at_line = assertion == "^" and self._program.multiline and text[position - 1 : position] == "\n"
            return position == 0 or at_line
        before_last_line_end = assertion in "$Z" and position == end - 1 and text[position] == "\n"
        at_line = assertion == "$" and self._program.multiline and text[position : position + 1] == "\n"
        return position == end or before_last_line_end or at_line


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str) -> Program:
    return program_of(pattern, flags)

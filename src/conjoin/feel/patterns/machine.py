"""Matching without backtracking: all ways through a pattern advance together, one character at a time.

So a text of n characters costs at most n times the size of the pattern, whatever the pattern: `(a+)+b` cannot hang.
Of several matches the leftmost is found, and of those the one that backtracking would have found first: ways are
kept in the order of preference, and a way behind another at the same instruction is dropped.

A pattern is run as a program, a flat list of instructions. Each is a pair: CONSUME a character of a set, FORK to
several targets (the preferred first), SAVE the position into a slot, CHECK an assertion, MATCH.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conjoin.feel.budget import Budget
from conjoin.feel.patterns import syntax
from conjoin.feel.patterns.characters import is_word
from conjoin.feel.patterns.syntax import PatternError, PatternGroup, PatternReader, Repeat, Tree

STEP = 8
"""The work of one instruction."""

Spans = tuple[int, ...]
"""Start and end of the match, then of each group; -1 where a group took no part."""

Way = tuple[int, Spans]
"""At which instruction a way through the pattern is, and what it has saved."""

CONSUME, FORK, SAVE, CHECK, MATCH = range(5)
LONGEST = 5_000
Instruction = tuple[int, Any]
_MOST_PARTS = 10 * LONGEST
"""Counted as well: a part that repeats nothing, a thousand times a thousand, makes no instruction."""


@dataclass(frozen=True, slots=True)
class Program:
    instructions: tuple[Instruction, ...]
    groups: int
    multiline: bool
    widest: int
    """How many sets the largest class of the pattern is made of: each may be tested for each character."""


class _Instructions(list[Instruction]):
    parts = 0


@lru_cache(maxsize=512)
def compiled(pattern: str, flags: str) -> Program:
    """The program of a pattern; `PatternError` for what is none or needs backtracking."""
    reader = PatternReader(pattern, flags)
    instructions = _Instructions()
    _emit(instructions, PatternGroup(0, reader.tree()))
    return Program((*instructions, (MATCH, None)), reader.groups, reader.multiline, reader.widest)


def _emit(out: _Instructions, tree: Tree) -> None:
    out.parts += 1
    if len(out) > LONGEST or out.parts > _MOST_PARTS:
        raise PatternError("the pattern repeats too much")
    if isinstance(tree, syntax.One):
        out.append((CONSUME, tree.members))
    elif isinstance(tree, syntax.Assertion):
        out.append((CHECK, tree.kind))
    elif isinstance(tree, syntax.Sequence):
        for part in tree.parts:
            _emit(out, part)
    elif isinstance(tree, PatternGroup):
        out.append((SAVE, 2 * tree.number))
        _emit(out, tree.part)
        out.append((SAVE, 2 * tree.number + 1))
    elif isinstance(tree, syntax.Choice):
        ends = []
        for option in tree.options[:-1]:
            fork = _reserve(out)
            _emit(out, option)
            ends.append(_reserve(out))
            out[fork] = (FORK, (fork + 1, len(out)))
        _emit(out, tree.options[-1])
        for end in ends:
            out[end] = (FORK, (len(out),))
    else:
        _emit_repeat(out, tree)


def _emit_repeat(out: _Instructions, tree: Repeat) -> None:
    for _ in range(tree.least):
        _emit(out, tree.part)
    forks = []
    for _ in range(1 if tree.most is None else tree.most - tree.least):
        forks.append(_reserve(out))
        _emit(out, tree.part)
    if tree.most is None:
        out.append((FORK, (forks[0],)))
    for fork in forks:
        onward, past = fork + 1, len(out)
        out[fork] = (FORK, (onward, past) if tree.greedy else (past, onward))


def _reserve(out: _Instructions) -> int:
    out.append((FORK, ()))
    return len(out) - 1


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
        instructions, waiting = self._program.instructions, [(start, spans)]
        while waiting:
            at, spans = waiting.pop()
            if at in seen:
                continue
            seen.add(at)
            self._budget.work(self._step)
            kind, argument = instructions[at]
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

"""A pattern as a program: a flat list of instructions, which is what the machine runs.

An instruction is a pair: CONSUME a character of a set, FORK to several targets (the preferred first), SAVE the position
into a slot, CHECK an assertion, MATCH.
"""

from dataclasses import dataclass
from typing import Any

from conjoin.feel.patterns.syntax import PatternError, PatternReader
from conjoin.feel.patterns.tree import Assertion, Choice, One, PatternGroup, Repeat, Sequence, Tree

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
    """How many sets the largest class of the pattern is made of: each may be asked for each character."""


class _Instructions(list[Instruction]):
    parts = 0


def program_of(pattern: str, flags: str) -> Program:
    """The program of a pattern; `PatternError` for what is none or needs backtracking."""
    reader = PatternReader(pattern, flags)
    instructions = _Instructions()
    _emit(instructions, PatternGroup(0, reader.tree()))
    return Program((*instructions, (MATCH, None)), reader.groups, reader.multiline, reader.widest)


def _emit(out: _Instructions, tree: Tree) -> None:
    out.parts += 1
    if len(out) > LONGEST or out.parts > _MOST_PARTS:
        raise PatternError("the pattern repeats too much")
    if isinstance(tree, One):
        out.append((CONSUME, tree.members))
    elif isinstance(tree, Assertion):
        out.append((CHECK, tree.kind))
    elif isinstance(tree, Sequence):
        for part in tree.parts:
            _emit(out, part)
    elif isinstance(tree, PatternGroup):
        out.append((SAVE, 2 * tree.number))
        _emit(out, tree.part)
        out.append((SAVE, 2 * tree.number + 1))
    elif isinstance(tree, Choice):
        _emit_choice(out, tree)
    else:
        _emit_repeat(out, tree)


def _emit_choice(out: _Instructions, tree: Choice) -> None:
    ends = []
    for option in tree.options[:-1]:
        fork = _reserve(out)
        _emit(out, option)
        ends.append(_reserve(out))
        out[fork] = (FORK, (fork + 1, len(out)))
    _emit(out, tree.options[-1])
    for end in ends:
        out[end] = (FORK, (len(out),))


def _emit_repeat(out: _Instructions, tree: Repeat) -> None:
    for _ in range(tree.least):
        _emit(out, tree.part)
    if tree.most is None:
        _emit_star(out, tree)
        return
    forks = []
    for _ in range(tree.most - tree.least):
        forks.append(_reserve(out))
        _emit(out, tree.part)
    for fork in forks:
        out[fork] = (FORK, _preferring(tree.greedy, fork + 1, len(out)))


def _emit_star(out: _Instructions, tree: Repeat) -> None:
    fork = _reserve(out)
    _emit(out, tree.part)
    out.append((FORK, (fork,)))
    out[fork] = (FORK, _preferring(tree.greedy, fork + 1, len(out)))


def _preferring(greedy: bool, onward: int, past: int) -> tuple[int, int]:
    return (onward, past) if greedy else (past, onward)


def _reserve(out: _Instructions) -> int:
    out.append((FORK, ()))
    return len(out) - 1

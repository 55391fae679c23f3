"""The tree of a pattern: what the reader makes of its text and the machine's program is made from."""

from dataclasses import dataclass
from typing import Union

from conjoin.feel.patterns.characters import CharacterSet

Tree = Union["One", "Sequence", "Choice", "Repeat", "PatternGroup", "Assertion"]


@dataclass(frozen=True, slots=True)
class One:
    members: CharacterSet


@dataclass(frozen=True, slots=True)
class Sequence:
    parts: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """The first that leads to a match wins."""

    options: tuple[Tree, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Tree
    least: int
    most: int | None
    greedy: bool


@dataclass(frozen=True, slots=True)
class PatternGroup:
    number: int
    part: Tree


@dataclass(frozen=True, slots=True)
class Assertion:
    """`^`, `$`, `b`, `B`, `A`, `z` or `Z`."""

    kind: str

"""A pattern's text into a tree: the common ground of Java's and XPath's regular expressions.

Refused by name: whatever needs backtracking (back-references, look-around, possessive and atomic groups), and
the rarer forms of classes. What is accepted can be matched in linear time, see `machine.py`.
"""

import re
from typing import NamedTuple, Union

from conjoin.feel.patterns import characters
from conjoin.feel.patterns.characters import CharacterSet

DEEPEST = 50
MOST_REPEATS = 1_000
Tree = Union["One", "Sequence", "Choice", "Repeat", "PatternGroup", "Assertion"]


class PatternError(Exception):
    """The pattern is not one we match; the message says why."""


class One(NamedTuple):
    members: CharacterSet


class Sequence(NamedTuple):
    parts: tuple[Tree, ...]


class Choice(NamedTuple):
    """The first that leads to a match wins."""

    options: tuple[Tree, ...]


class Repeat(NamedTuple):
    part: Tree
    least: int
    most: int | None
    greedy: bool


class PatternGroup(NamedTuple):
    number: int
    part: Tree


class Assertion(NamedTuple):
    """`^`, `$`, `b`, `B`, `A`, `z` or `Z`."""

    kind: str


_COUNT = re.compile(r"\{([0-9]{1,4})(,([0-9]{1,4})?)?\}")
_COMMENT = re.compile(r"#[^\n]*|\s")
_FLAGS = re.compile(r"\(\?([imsx]+)\)")
_GROUP_NAME = re.compile(r"\?<[A-Za-z][A-Za-z0-9]*>")
_PROPERTY = re.compile(r"\{([A-Za-z]+)\}")
_CODE = re.compile(r"u([0-9A-Fa-f]{4})")


class PatternReader:
    """Reads one pattern; `groups` is how many it has, `multiline` what `^` and `$` mean in it."""

    def __init__(self, text: str, flags: str) -> None:
        inline = _FLAGS.match(text)
        self._flags = flags + (inline[1] if inline else "")
        if not set(self._flags) <= set("imsx"):
            raise PatternError(f"the flags of a pattern are i, m, s and x, not {flags!r}")
        self._text = text
        self._position = inline.end() if inline else 0
        self._depth = 0
        self.groups = 0
        self.multiline = "m" in self._flags
        self.widest = 0

    def tree(self) -> Tree:
        tree = self._choice()
        if self._position < len(self._text):
            raise PatternError("a ')' closes no group")
        return tree

    def _peek(self) -> str:
        return self._text[self._position : self._position + 1]

    def _take(self) -> str:
        taken = self._peek()
        self._position += 1
        return taken

    def _accept(self, text: str) -> bool:
        found = self._text.startswith(text, self._position)
        self._position += len(text) if found else 0
        return found

    def _match(self, form: re.Pattern[str]) -> re.Match[str] | None:
        match = form.match(self._text, self._position)
        self._position = match.end() if match else self._position
        return match

    def _choice(self) -> Tree:
        self._depth += 1
        if self._depth > DEEPEST:
            raise PatternError(f"groups may be nested {DEEPEST} levels deep")
        options = [self._sequence()]
        while self._accept("|"):
            options.append(self._sequence())
        self._depth -= 1
        return options[0] if len(options) == 1 else Choice(tuple(options))

    def _sequence(self) -> Tree:
        parts: list[Tree] = []
        while (character := self._peek()) and character not in "|)":
            if "x" in self._flags and self._match(_COMMENT):
                continue
            parts.append(self._repeated(self._one()))
        return Sequence(tuple(parts))

    def _repeated(self, part: Tree) -> Tree:
        bounds = self._bounds()
        if bounds is None:
            return part
        greedy = not self._accept("?")
        if self._peek() == "+":
            raise PatternError("possessive quantifiers are not supported")
        if self._peek() and self._peek() in "*?":
            raise PatternError("a quantifier follows a quantifier")
        return Repeat(part, *bounds, greedy)

    def _bounds(self) -> tuple[int, int | None] | None:
        simple = {"*": (0, None), "+": (1, None), "?": (0, 1)}.get(self._peek())
        if simple is not None:
            self._take()
            return simple
        count = self._match(_COUNT)
        if count is None:
            return None
        least = int(count[1])
        most = None if count[2] == "," else int(count[3]) if count[2] else least
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            raise PatternError(f"{count[0]} is no repetition of at most {MOST_REPEATS}")
        return least, most

    def _one(self) -> Tree:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return One(self._class())
        if character == ".":
            return One(characters.anything if "s" in self._flags else characters.not_a_line_end)
        if character in "^$":
            return Assertion(character)
        if character == "\\":
            return self._escape()
        if character in "*+?{":
            raise PatternError(f"{character!r} repeats nothing")
        return One(self._cased(characters.exactly(character)))

    def _cased(self, members: CharacterSet) -> CharacterSet:
        return characters.ignoring_case(members) if "i" in self._flags else members

    def _group(self) -> Tree:
        captures = True
        if self._accept("?:"):
            captures = False
        elif self._peek() == "?" and not self._match(_GROUP_NAME):
            raise PatternError("look-around, atomic groups and flags within a pattern are not supported")
        self.groups += captures
        number = self.groups
        part = self._choice()
        if not self._accept(")"):
            raise PatternError("a group has no closing ')'")
        return PatternGroup(number, part) if captures else part

    def _escape(self) -> Tree:
        if self._peek() and self._peek() in "bBAzZ":
            return Assertion(self._take())
        return One(self._cased(self._escaped_set()))

    def _escaped_set(self) -> CharacterSet:
        character = self._take()
        if code := (self._code_at(self._position - 1) if character == "u" else None):
            self._position += 4
            return characters.exactly(code)
        if character in ("p", "P"):
            return self._property(character == "P")
        if character.lower() in ("d", "w", "s"):
            members = characters.named_set(character.lower())
            assert members is not None
            return members if character.islower() else characters.outside(members)
        if character in characters.CONTROLS:
            return characters.exactly(characters.CONTROLS[character])
        if character.isdigit():
            raise PatternError(f"back-references (\\{character}) are not supported")
        if not character or character.isalpha():
            raise PatternError(f"the escape '\\{character}' is not supported")
        return characters.exactly(character)

    def _code_at(self, position: int) -> str | None:
        match = _CODE.match(self._text, position)
        return chr(int(match[1], 16)) if match else None

    def _property(self, negated: bool) -> CharacterSet:
        match = self._match(_PROPERTY)
        members = characters.named_set(match[1]) if match else None
        if members is None:
            raise PatternError("\\p needs a name we know, such as \\p{L} or \\p{Alpha}")
        return characters.outside(members) if negated else members

    def _class(self) -> CharacterSet:
        negated = self._accept("^")
        sets: list[CharacterSet] = []
        single: set[str] = set()
        while not (sets or single) or self._peek() != "]":
            if not self._peek() or self._peek() == "[" or self._text.startswith("&&", self._position):
                raise PatternError("a class has no closing ']', or holds another class, which is not supported")
            member = self._member()
            if isinstance(member, str):
                single.add(member)
            else:
                sets.append(member)
        self._take()
        self.widest = max(self.widest, len(sets))
        if single:
            sets.append(frozenset(single).__contains__)
        members = self._cased(characters.any_of(sets))
        return characters.outside(members) if negated else members

    def _member(self) -> CharacterSet | str:
        first = self._single()
        if callable(first):
            return first
        if self._peek() == "-" and self._text[self._position + 1 : self._position + 2] not in ("", "]"):
            self._take()
            last = self._single()
            if callable(last) or last < first:
                raise PatternError(f"the range that begins with {first!r} in a class has no proper end")
            return characters.from_to(first, last)
        return first

    def _single(self) -> str | CharacterSet:
        """One character of a class, or a set that an escape names."""
        if not self._accept("\\"):
            return self._take()
        escaped = self._peek()
        if escaped == "u" and (code := self._code_at(self._position)):
            self._position += 5
            return code
        if escaped in characters.CONTROLS:
            return characters.CONTROLS[self._take()]
        return self._take() if escaped and not escaped.isalnum() else self._escaped_set()

"""Expressions of SQL as trees: the part of Spark's language in which the rules of reading are written, and no more."""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:(?P<quoted>`(?:[^`]|``)*`)|r'(?P<raw>[^']*)'|'(?P<text>[^'\\]*)'|(?P<number>\d+)(?P<long>L?)\b
    |(?P<word>[A-Za-z_]\w*)|(?P<sign><>|<=|>=|[=<>+\-*&(),]))""",
    re.VERBOSE,
)
_COMPARISONS = ("=", "<>", "<", ">", "<=", ">=")


@dataclass(frozen=True, slots=True)
class SqlTree:
    """`what` is a kind of node: column, literal, call, case, cast, or an operator. `of` are its parts."""

    what: str
    of: tuple[Any, ...]


STAR = SqlTree("star", ())


@lru_cache(maxsize=4096)
def parse(text: str) -> tuple[SqlTree, str | None]:
    """An expression, and the name that it is given by `as`."""
    parser = _Parser(text)
    if parser.sign("*"):
        return STAR, None
    tree = parser.either()
    name = parser.name() if parser.word("as") else None
    parser.end()
    return tree, name


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def either(self) -> SqlTree:
        return self._chain("or", self._both)

    def _both(self) -> SqlTree:
        return self._chain("and", self._negated)

    def _chain(self, word: str, part: Any) -> SqlTree:
        tree: SqlTree = part()
        while self.word(word):
            tree = SqlTree(word, (tree, part()))
        return tree

    def _negated(self) -> SqlTree:
        return SqlTree("not", (self._negated(),)) if self.word("not") else self._compared()

    def _compared(self) -> SqlTree:
        tree = self._sum()
        if self.word("is"):
            wanted = "present" if self.word("not") else "missing"
            self._must(self.word("null"))
            return SqlTree(wanted, (tree,))
        if self.word("rlike"):
            return SqlTree("rlike", (tree, self._product()))
        if self.word("in"):
            self._must(self.sign("("))
            return SqlTree("in", (tree, *self._arguments()))
        for sign in _COMPARISONS:
            if self.sign(sign):
                return SqlTree(sign, (tree, self._sum()))
        return tree

    def _sum(self) -> SqlTree:
        tree = self._product()
        while (sign := self.one_of("+", "-", "&")) is not None:
            tree = SqlTree(sign, (tree, self._product()))
        return tree

    def _product(self) -> SqlTree:
        tree = self._single()
        while self.sign("*"):
            tree = SqlTree("*", (tree, self._single()))
        return tree

    def _single(self) -> SqlTree:
        if self.sign("("):
            tree = self.either()
            self._must(self.sign(")"))
            return tree
        if self.sign("-"):
            return _negative(self._single())
        found = self._take()
        self._must(found is not None)
        assert found is not None
        if found["quoted"] is not None:
            return SqlTree("column", (_unquoted(found["quoted"]),))
        if found["number"] is not None:
            return SqlTree("literal", (int(found["number"]), "bigint" if found["long"] else "int"))
        for kind in ("raw", "text"):
            if found[kind] is not None:
                return SqlTree("literal", (found[kind], "string"))
        return self._named(found["word"])

    def _named(self, word: str) -> SqlTree:
        small = word.lower()
        if small in ("true", "false"):
            return SqlTree("literal", (small == "true", "boolean"))
        if small == "null":
            return SqlTree("literal", (None, "void"))
        if small == "case":
            return self._case()
        if not self.sign("("):
            return SqlTree("column", (word,))
        if small in ("cast", "try_cast"):
            return self._cast(small)
        return SqlTree("call", (small, *self._arguments()))

    def _arguments(self) -> list[SqlTree]:
        found = []
        while not self.sign(")"):
            found.append(self.either())
            self.sign(",")
        return found

    def _case(self) -> SqlTree:
        operand = None if self._sees("when") else self.either()
        branches, otherwise = [], SqlTree("literal", (None, "void"))
        while self.word("when"):
            condition = self.either()
            self._must(self.word("then"))
            branches.append((condition if operand is None else SqlTree("=", (operand, condition)), self.either()))
        if self.word("else"):
            otherwise = self.either()
        self._must(self.word("end"))
        return SqlTree("case", (tuple(branches), otherwise))

    def _cast(self, what: str) -> SqlTree:
        """The name of a type goes up to the bracket that closes the call."""
        value = self.either()
        self._must(self.word("as"))
        begin, depth = self._at, 0
        while depth or self._text[self._at] != ")":
            depth += {"(": 1, ")": -1}.get(self._text[self._at], 0)
            self._at += 1
        self._at += 1
        return SqlTree(what, (value, self._text[begin : self._at - 1].strip()))

    def name(self) -> str:
        found = self._take()
        self._must(found is not None)
        assert found is not None
        return found["word"] or _unquoted(found["quoted"])

    def word(self, word: str) -> bool:
        return self._skip("word", word)

    def sign(self, sign: str) -> bool:
        return self._skip("sign", sign)

    def one_of(self, *signs: str) -> str | None:
        return next((sign for sign in signs if self.sign(sign)), None)

    def _sees(self, word: str) -> bool:
        found = _TOKEN.match(self._text, self._at)
        return found is not None and (found["word"] or "").lower() == word

    def _skip(self, group: str, wanted: str) -> bool:
        found = _TOKEN.match(self._text, self._at)
        if found is None or (found[group] or "").lower() != wanted:
            return False
        self._at = found.end()
        return True

    def _take(self) -> re.Match[str] | None:
        found = _TOKEN.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return found

    def end(self) -> None:
        self._must(not self._text[self._at :].strip())

    def _must(self, is_so: bool) -> None:
        if not is_so:
            raise ValueError(f"not understood at {self._at}: {self._text}")


def _negative(tree: SqlTree) -> SqlTree:
    """A number below zero is one number: the lowest has no other half."""
    if tree.what == "literal":
        return SqlTree("literal", (-tree.of[0], tree.of[1]))
    return SqlTree("negative", (tree,))


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`")

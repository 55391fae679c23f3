"""Filters: which types of messages a channel takes.

Written as a plain table: `types` (full names, `orders.*` for a whole namespace), `and`, `or`, `not`, or the word
`all`. A filter is a value, so it can be sent to wherever the rows are. What it lets through says nothing about
whether the message can be used.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from conjoin.kernel.inbox.message import MessageType

EVERY_TYPE = "all"
_DEEPEST = 20
"""More nesting than anybody writes, and less than a stack holds."""


@dataclass(frozen=True, slots=True)
class Types:
    """Accepts the named types, and whole namespaces."""

    names: frozenset[str]
    namespaces: frozenset[str] = frozenset()

    def accepts(self, type_: MessageType) -> bool:
        return type_.full_name in self.names or type_.namespace in self.namespaces


@dataclass(frozen=True, slots=True)
class And:
    """Without parts it accepts everything."""

    parts: "tuple[Filter, ...]" = ()

    def accepts(self, type_: MessageType) -> bool:
        return all(part.accepts(type_) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    parts: "tuple[Filter, ...]"

    def accepts(self, type_: MessageType) -> bool:
        return any(part.accepts(type_) for part in self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    part: "Filter"

    def accepts(self, type_: MessageType) -> bool:
        return not self.part.accepts(type_)


Filter = Types | And | Or | Not

EVERYTHING: Filter = And()


def read_filter(written: object, where: str = "filter") -> tuple[Filter, list[str]]:
    """The filter that is written, and every problem found in it; what cannot be read accepts everything."""
    problems: list[str] = []
    return _read(written, where, 0, problems), problems


def _read(written: object, where: str, depth: int, problems: list[str]) -> Filter:
    if written is None or written == EVERY_TYPE:
        return EVERYTHING
    if not isinstance(written, Mapping) or len(written) != 1:
        problems.append(f"{where}: {written!r:.80} is not one of types, and, or, not, nor {EVERY_TYPE!r}")
        return EVERYTHING
    [(word, inner)] = written.items()
    where = f"{where}.{word}"
    if depth == _DEEPEST:
        problems.append(f"{where}: is nested more than {_DEEPEST} times")
        return EVERYTHING
    if word == "types":
        return _read_types(inner, where, problems)
    if word == "not":
        return Not(_read(inner, where, depth + 1, problems))
    if word in ("and", "or"):
        parts = _read_parts(inner, where, depth + 1, problems)
        return And(parts) if word == "and" else Or(parts)
    problems.append(f"{where}: there is no such filter; there are types, and, or, not")
    return EVERYTHING


def _read_types(written: object, where: str, problems: list[str]) -> Filter:
    given = written if isinstance(written, list | tuple) else [written]
    names = [name for name in given if isinstance(name, str) and name.strip()]
    if len(names) != len(given) or not names:
        problems.append(f"{where}: {written!r:.80} is not a list of names of types")
        return EVERYTHING
    whole = frozenset(name.removesuffix(".*") for name in names if name.endswith(".*"))
    return Types(frozenset(name for name in names if not name.endswith(".*")), whole)


def _read_parts(written: object, where: str, depth: int, problems: list[str]) -> tuple[Filter, ...]:
    if not isinstance(written, list | tuple) or not written:
        problems.append(f"{where}: takes a list of filters")
        return (EVERYTHING,)
    return tuple(_read(part, f"{where}[{number}]", depth, problems) for number, part in enumerate(written))

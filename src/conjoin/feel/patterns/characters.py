"""Sets of characters in a pattern: what `\\d`, `[a-z]`, `.` and `\\p{Lu}` match, each a predicate of one character.

As in Java, `\\d`, `\\w` and `\\s` know ASCII only; `\\p{...}` knows Unicode.
"""

import string
import unicodedata
from collections.abc import Callable

CharacterSet = Callable[[str], bool]

_LINE_ENDS = frozenset("\n\r\u0085\u2028\u2029")
_CATEGORIES = frozenset(
    (
        *("L", "Lu", "Ll", "Lt", "Lm", "Lo", "M", "Mn", "Mc", "Me", "N", "Nd", "Nl", "No", "P", "Pc", "Pd", "Ps"),
        *("Pe", "Pi", "Pf", "Po", "S", "Sm", "Sc", "Sk", "So", "Z", "Zs", "Zl", "Zp"),
    )
)
_WORD = frozenset(string.ascii_letters + string.digits + "_")
_NAMED: dict[str, frozenset[str]] = {
    **dict.fromkeys(("d", "Digit"), frozenset(string.digits)),
    "w": _WORD,
    **dict.fromkeys(("s", "Space"), frozenset(" \t\n\x0b\f\r")),
    "Alpha": frozenset(string.ascii_letters),
    "Alnum": frozenset(string.ascii_letters + string.digits),
    "Upper": frozenset(string.ascii_uppercase),
    "Lower": frozenset(string.ascii_lowercase),
    "Punct": frozenset(string.punctuation),
}
CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f", "0": "\0"}


def named_set(name: str) -> CharacterSet | None:
    """The set of `d`, `w`, `s`, a POSIX name or a Unicode category; None when there is none of that name."""
    if name in _NAMED:
        return _NAMED[name].__contains__
    name = name.removeprefix("Is")
    if name in _CATEGORIES:
        return lambda character: unicodedata.category(character).startswith(name)
    return None


def exactly(wanted: str) -> CharacterSet:
    return lambda character: character == wanted


def from_to(first: str, last: str) -> CharacterSet:
    return lambda character: first <= character <= last


def outside(members: CharacterSet) -> CharacterSet:
    return lambda character: not members(character)


def any_of(sets: list[CharacterSet]) -> CharacterSet:
    if len(sets) == 1:
        return sets[0]
    return lambda character: any(members(character) for members in sets)


def ignoring_case(members: CharacterSet) -> CharacterSet:
    return lambda character: members(character) or members(character.lower()) or members(character.upper())


def not_a_line_end(character: str) -> bool:
    return character not in _LINE_ENDS


def anything(character: str) -> bool:
    return True


def is_word(text: str, position: int) -> bool:
    return 0 <= position < len(text) and text[position] in _WORD

"""Text into tokens. One regular expression without backtracking into itself, so a huge text costs linear time.

A token knows where it starts, for messages, and where it ends, because a context key may be several words and is
taken from the text as it stands.
"""

import re
from typing import NamedTuple

from conjoin.feel.errors import FeelSyntaxError

LONGEST_TEXT = 100_000
KEYWORDS = frozenset(
    (
        *("true", "false", "null", "function", "if", "then", "else", "for", "return", "some", "every", "satisfies"),
        *("between", "instance", "of", "not", "in", "and", "or"),
    )
)
_TOKEN = re.compile(
    r"""
      (?P<blank>   (?: \s | //[^\n]* | /\*(?s:.*?)\*/ )+ )
    | (?P<number>  [0-9]+(?:\.[0-9]+)? | \.[0-9]+ )
    | (?P<string>  "(?:[^"\\]|\\(?s:.))*" )
    | (?P<quoted>  `[^`\n]+` )
    | (?P<name>    (?:[^\W\d]|[$\U00010000-\U0010FFFF])(?:\w|[$\u0300-\u036F\u200D\uFE0F\U00010000-\U0010FFFF])* )
    | (?P<symbol>  \*\* | \.\. | != | <= | >= | /(?!\*) | [-+*=<>()\[\]{},:.?@] )
    """,
    re.VERBOSE,
)
_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{6})|U([0-9A-Fa-f]{5})|(.))", re.DOTALL)
_ESCAPED = {"n": "\n", "r": "\r", "t": "\t", "f": "\f", '"': '"', "'": "'", "\\": "\\"}
_SURROGATES = re.compile("[\ud800-\udfff]+")
_HINTS = {
    "'": "a string is written in double quotes",
    '"': 'this string has no closing "',
    "`": "this name has no closing `",
    "!": "use not(...) or !=",
    "&": "use the word 'and'",
    "|": "use the word 'or'",
    "%": "use modulo(a, b)",
    ";": "an expression has no ';'",
}


class Token(NamedTuple):
    """`kind` is number, string, name (also one in backticks), keyword, symbol or end; `value` is its meaning."""

    kind: str
    value: str
    start: int
    end: int


def tokens_of(text: str) -> list[Token]:
    """All tokens; the last is `end`."""
    if len(text) > LONGEST_TEXT:
        problem = f"an expression may have {LONGEST_TEXT:,} characters, this has {len(text):,}"
        raise FeelSyntaxError(text, LONGEST_TEXT + 1, "text", problem)
    tokens, position = [], 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _not_a_token(text, position)
        position = match.end()
        if match.lastgroup != "blank":
            tokens.append(_token(match))
    tokens.append(Token("end", "", len(text), len(text)))
    return tokens


def _token(match: re.Match[str]) -> Token:
    kind, value = match.lastgroup or "", match[0]
    if kind == "string":
        value = _unescaped(value[1:-1])
    elif kind == "quoted":
        kind, value = "name", value[1:-1]
    elif kind == "name" and value in KEYWORDS:
        kind = "keyword"
    return Token(kind, value, match.start(), match.end())


def _unescaped(text: str) -> str:
    """An escape that FEEL does not know stays as written: `"\\s"` and `"\\d"` are what a pattern needs."""
    if "\\" not in text:
        return text
    unescaped = _ESCAPE.sub(_escaped, text)
    return _SURROGATES.sub(_joined_surrogates, unescaped)


def _escaped(match: re.Match[str]) -> str:
    code = match[1] or match[2] or match[3]
    if code is None:
        return _ESCAPED.get(match[4], match[0])
    return chr(int(code, 16)) if int(code, 16) <= 0x10FFFF else "\ufffd"


def _joined_surrogates(match: re.Match[str]) -> str:
    """Two halves of one character, as JSON writes it; a half alone cannot be stored and is replaced."""
    return match[0].encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _not_a_token(text: str, position: int) -> FeelSyntaxError:
    found = text[position]
    if text.startswith("/*", position):
        return FeelSyntaxError(text, position + 1, "comment", "this comment has no closing */")
    hint = _HINTS.get(found)
    problem = f"unexpected {found!r}" + (f": {hint}" if hint else "")
    return FeelSyntaxError(text, position + 1, found, problem)

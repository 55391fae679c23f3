"""Where the parser is: the next token, what is accepted or demanded, and how a refusal is worded."""

from collections.abc import Collection

from conjoin.feel.errors import FeelSyntaxError
from conjoin.feel.parsing.lexer import Token, tokens_of

DEEPEST = 60
"""How deep parentheses, lists, conditions and the like may be nested."""
_MOST_WORDS = 5
_LONGEST_SHOWN = 40


class Cursor:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.position = 0
        self.depth = 0

    @property
    def token(self) -> Token:
        return self.tokens[self.position]

    def ahead(self, distance: int) -> Token:
        return self.tokens[min(self.position + distance, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.tokens[self.position]
        self.position += token.kind != "end"
        return token

    def at(self, *values: str) -> bool:
        """Whether the next token is one of these symbols or keywords."""
        token = self.token
        return token.value in values and token.kind in ("symbol", "keyword")

    def accept(self, *values: str) -> str | None:
        """The next token, taken, if it is one of these symbols or keywords."""
        return self.take().value if self.at(*values) else None

    def expect(self, value: str, where: str) -> None:
        if not self.accept(value):
            raise self.unexpected(f"expected {value!r} {where}")

    def expect_name(self, what: str) -> str:
        if self.token.kind != "name":
            raise self.unexpected(f"expected {what}")
        return self.take().value

    def accept_words(self, names: Collection[str], followed_by: str = "") -> str | None:
        """The longest of the names that the next tokens spell, taken; None, and nothing taken, if they spell none.

        FEEL has names of several words for built-in functions, types and properties; variables need backticks. A word
        may be a keyword (`date and time`) or a dash; `followed_by` is the symbol that has to come next.
        """
        spelled, found, length = "", None, 0
        for distance in range(_MOST_WORDS):
            token = self.ahead(distance)
            if token.kind not in ("name", "keyword") and token.value != "-":
                break
            spelled = (f"{spelled} {token.value}" if distance else token.value).replace(" - ", "-")
            if spelled in names and (not followed_by or self.ahead(distance + 1).value == followed_by):
                found, length = spelled, distance + 1
        self.position += length
        return found

    def descend(self) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.refused(self.token, "nesting", f"an expression may be nested {DEEPEST} levels deep, not deeper")

    def unexpected(self, problem: str) -> FeelSyntaxError:
        token = self.token
        if token.kind == "end":
            return self.refused(token, "end", f"{problem}, but the expression ends here")
        written = self.text[token.start : token.end]
        shown = written if len(written) <= _LONGEST_SHOWN else f"{written[: _LONGEST_SHOWN - 3]}..."
        return self.refused(token, written, f"{problem}, found {shown!r}{self._hint()}")

    def refused(self, token: Token, construct: str, problem: str) -> FeelSyntaxError:
        return FeelSyntaxError(self.text, token.start + 1, construct, problem)

    def _hint(self) -> str:
        """For what people write who know other languages."""
        if self.at("=") and self.position and self.tokens[self.position - 1].value == "=":
            return " (equality is written with one '=')"
        if self.token.kind == "name" and self.position and self.tokens[self.position - 1].kind == "name":
            return " (a name with a space is written in backticks: `first name`)"
        return ""

"""Texts to expressions: what begins with `=` is FEEL, anything else means itself.

A correlation key is the exception: in Zeebe it must be an expression; elsewhere the bare name of a variable will do.
"""

import re
from collections import OrderedDict
from threading import Lock

from conjoin.feel import CompiledExpression as Compiled
from conjoin.feel import FeelSyntaxError, compile_expression
from conjoin.kernel.plan import Expression, ExpressionStoppedError, Literal

VARIABLE = re.compile(r"[^\W\d]\w*")
_REFERENCE = re.compile(r"=\s*(?P<variable>[^\W\d]\w*)(\s*\.\s*[^\W\d]\w*)*\s*")


def is_expression(text: str) -> bool:
    return text.startswith("=")


def compiled(text: str) -> Compiled:
    """The expression behind a text that begins with `=`; raises `FeelSyntaxError`."""
    found = _REMEMBERED.get(text)
    if found is None:
        found = compile_expression(text[1:], ExpressionStoppedError)
        _REMEMBERED.put(text, found)
    return found


def readable(text: str | None) -> Compiled | None:
    """The expression of a text; None for a text that is none, and for one that is refused elsewhere."""
    try:
        return compiled(text) if text and is_expression(text) else None
    except FeelSyntaxError:
        return None


class Remembered:
    """The expressions that were asked for last, up to so many characters: those of one file always find room."""

    def __init__(self, most_characters: int) -> None:
        self._most = most_characters
        self._by_text: OrderedDict[str, Compiled] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def get(self, text: str) -> Compiled | None:
        with self._lock:
            found = self._by_text.get(text)
            if found is not None:
                self._by_text.move_to_end(text)
            return found

    def put(self, text: str, expression: Compiled) -> None:
        with self._lock:
            if text not in self._by_text:
                self._characters += len(text)
            self._by_text[text] = expression
            while self._characters > self._most:
                self._characters -= len(self._by_text.popitem(last=False)[0])


_REMEMBERED = Remembered(400_000)


def expression(text: str) -> Expression:
    """An expression, or a literal of the text itself."""
    return compiled(text) if is_expression(text) else Literal(text, text)


def stored_expression(text: str) -> Expression:
    """The same for a value that becomes a variable: dates, times and durations become their text."""
    return compiled(text).stored() if is_expression(text) else Literal(text, text)


def number_expression(text: str) -> Expression:
    """The same where a number is meant: a literal that is written as one is one."""
    stripped = text.strip()
    return Literal(int(stripped), text) if re.fullmatch(r"-?\d{1,19}", stripped) else expression(text)


def key_expression(text: str) -> Expression:
    """A correlation key, in which a bare name means the variable of that name."""
    return compiled(text if is_expression(text) else f"={text.strip()}")


def variable_of(text: str) -> str | None:
    """The variable of an expression that is nothing but a variable or a path into one."""
    found = _REFERENCE.fullmatch(text)
    return found["variable"] if found else None

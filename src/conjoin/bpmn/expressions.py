"""Texts to expressions: what begins with `=` is FEEL, anything else means itself.

A correlation key is the exception: in Zeebe it must be an expression; elsewhere the bare name of a variable will do.
"""

import re
from functools import lru_cache

from conjoin.feel import Expression as Compiled
from conjoin.feel import compile_expression
from conjoin.kernel.plan import Expression, Literal

VARIABLE = re.compile(r"[^\W\d]\w*")
_REFERENCE = re.compile(r"=\s*(?P<variable>[^\W\d]\w*)(\s*\.\s*[^\W\d]\w*)*\s*")


def is_expression(text: str) -> bool:
    return text.startswith("=")


@lru_cache(maxsize=4096)
def compiled(text: str) -> Compiled:
    """The expression behind a text that begins with `=`; raises `FeelSyntaxError`."""
    return compile_expression(text[1:])


def expression(text: str) -> Expression:
    """An expression, or a literal of the text itself."""
    return compiled(text) if is_expression(text) else Literal(text, text)


def stored_expression(text: str) -> Expression:
    """The same for a value that becomes a variable: dates, times and durations become their text."""
    return compiled(text).stored() if is_expression(text) else Literal(text, text)


def number_expression(text: str) -> Expression:
    """The same where a number is meant: a literal that is written as one is one."""
    stripped = text.strip()
    return Literal(int(stripped), text) if re.fullmatch(r"-?\d+", stripped) else expression(text)


def key_expression(text: str) -> Expression:
    """A correlation key, in which a bare name means the variable of that name."""
    return compiled(text if is_expression(text) else f"={text.strip()}")


def variable_of(text: str) -> str | None:
    """The variable of an expression that is nothing but a variable or a path into one."""
    found = _REFERENCE.fullmatch(text)
    return found["variable"] if found else None

"""Hiding: values of variables that are not shown, by the names of the variables.

The hidden view of a value is what a caller may know of it, so it is also what is compared on a caller's behalf: a
search finds exactly what it could show. Rules see every value, and so do workers of jobs.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fnmatch import translate
from typing import Any

import msgspec

from conjoin.runtime.codec.json_text import json_bytes, json_text, read_json

MARK = "(hidden)"
_SHORTEST = 3
"""Characters: shorter values stand in too many texts by chance."""
_CERTAIN = 8
"""So many of its first characters are enough to know a value that a text quotes cut off."""


class Hiding:
    """Of names that match a pattern, at any depth; * stands for any characters, and case does not matter."""

    def __init__(self, patterns: Iterable[str] = ()) -> None:
        together = "|".join(translate(pattern) for pattern in patterns)
        self._pattern = re.compile(together, re.IGNORECASE) if together else None

    @property
    def is_active(self) -> bool:
        return self._pattern is not None

    def hides(self, name: str) -> bool:
        return self._pattern is not None and self._pattern.match(name) is not None

    def of(self, variables: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._pattern is None:
            return variables
        return {name: self.value(name, value) for name, value in variables.items()}

    def value(self, name: str, value: Any) -> Any:
        return MARK if self.hides(name) else self.inside(value)

    def inside(self, value: Any) -> Any:
        """Of a value without a name."""
        if self._pattern is None:
            return value
        if isinstance(value, Mapping):
            return self.of(value)
        return [self.inside(item) for item in value] if isinstance(value, (list, tuple)) else value

    def payload(self, raw: bytes) -> bytes:
        """As it came, with hidden values marked. What is no JSON has no names to go by: then all of it is hidden."""
        if self._pattern is None or not raw:
            return raw
        value = _read(raw)
        return MARK.encode() if value is None else json_bytes(self.inside(value))

    def line(self, text: str, *quoted: Any) -> str:
        """The same of a line that may end with JSON, as lines of a history do."""
        start = text.find("{") if self._pattern is not None else -1
        value = _read(text[start:].encode("utf-8", "replace")) if start >= 0 else None
        seen = text if value is None else text[:start] + json_text(self.inside(value))
        return self.text(seen, *quoted)

    def text(self, text: str, *quoted: Any) -> str:
        """Something in words, without hidden values of what it may quote (values, or bytes of JSON)."""
        if self._pattern is None or not text:
            return text
        secrets = {secret for value in quoted for secret in self._secrets(_read(value))}
        for secret in sorted(secrets, key=len, reverse=True):
            text = _without(text, secret)
        return text

    def _secrets(self, value: Any, is_hidden: bool = False) -> Iterator[str]:
        """Every hidden value in it, as a text may have it."""
        if isinstance(value, Mapping):
            for name, it in value.items():
                yield from self._secrets(it, is_hidden or self.hides(name))
        elif isinstance(value, (list, tuple)):
            for it in value:
                yield from self._secrets(it, is_hidden)
        elif is_hidden and isinstance(value, (str, int, float, Decimal)) and not isinstance(value, bool):
            texts = (value, json_text(value)[1:-1], repr(value)[1:-1]) if isinstance(value, str) else (str(value),)
            yield from (it for it in texts if len(it) >= _SHORTEST)


def _read(value: Any) -> Any:
    if not isinstance(value, bytes):
        return value
    try:
        return read_json(value)
    except (msgspec.MsgspecError, ValueError, ArithmeticError, RecursionError):
        return None


def _without(text: str, secret: str) -> str:
    begin = secret[:_CERTAIN]
    at = text.find(begin)
    while at >= 0:
        end = at + len(begin)
        while end < len(text) and end - at < len(secret) and text[end] == secret[end - at]:
            end += 1
        text = f"{text[:at]}{MARK}{text[end:]}"
        at = text.find(begin, at + len(MARK))
    return text


NOTHING_HIDDEN = Hiding()

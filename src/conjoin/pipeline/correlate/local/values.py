"""Single values as Spark reads and writes them: numbers and truth in texts, rows and lists as JSON."""

import math
import re
from decimal import Decimal
from typing import Any

import msgspec

from conjoin.pipeline.correlate.local.instants import BLANKS
from conjoin.pipeline.correlate.local.not_local import NotLocal

_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")
_ESCAPED = re.compile(r'["\\\x00-\x1f]')
_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
_LOWEST, _HIGHEST = -(2**63), 2**63 - 1
_read_list = msgspec.json.Decoder(list[msgspec.Raw]).decode


def whole_number_of(text: str) -> int | None:
    """As `try_cast(... as bigint)` reads it."""
    bare = text.strip(BLANKS)
    if not _WHOLE.fullmatch(bare) or len(bare) > 4000:
        return None
    number = int(bare)
    return number if _LOWEST <= number <= _HIGHEST else None


def truth_of(text: str) -> bool | None:
    bare = text.strip(BLANKS).lower()
    return True if bare in _TRUE else False if bare in _FALSE else None


def whole_number_in(number: float) -> int | None:
    """Of a fraction, if it fits."""
    if math.isnan(number) or not -(2.0**63) <= number < 2.0**63:
        return None
    return int(number)


def json_string(text: str) -> str:
    return f'"{_ESCAPED.sub(_escape, text)}"'


def _escape(found: re.Match[str]) -> str:
    return _SHORT_ESCAPES.get(found[0]) or f"\\u{ord(found[0]):04X}"


def fraction_text(number: float) -> str:
    """As Java writes a double."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0:
        return "-0.0" if math.copysign(1, number) < 0 else "0.0"
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    figures = "".join(map(str, digits))
    assert isinstance(exponent, int)
    point = len(figures) + exponent
    if -3 < point <= 7:
        padded = figures.ljust(point, "0") if point > 0 else "0" * (1 - point) + figures
        split = max(point, 1)
        text = f"{padded[:split]}.{padded[split:] or '0'}"
    else:
        text = f"{figures[0]}.{figures[1:] or '0'}E{point - 1}"
    return f"-{text}" if sign else text


def json_of_fraction(number: float) -> str:
    text = fraction_text(number)
    return text if math.isfinite(number) else f'"{text}"'


def list_in(text: str) -> list[str] | None:
    """As `from_json(..., 'array<string>')` reads it, without its nulls."""
    try:
        values = _read_list(text)
    except (msgspec.DecodeError, RecursionError):
        if text.strip()[:1] in ("[", "{"):
            raise NotLocal(f"the list {text[:80]!r}") from None
        return None
    return [it for it in (_element(bytes(value)) for value in values) if it is not None]


def _element(raw: bytes) -> Any:
    if raw[:1] == b'"':
        return msgspec.json.decode(raw, type=str)
    if raw == b"null":
        return None
    raise NotLocal(f"a list with {raw[:80]!r}")


def json_of_list(values: list[str | None]) -> str:
    return f"[{','.join('null' if value is None else json_string(value) for value in values)}]"

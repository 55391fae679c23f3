"""Places: the order of a group as a text that sorts like it, so that a database finds the first ones by an index.

It says what the kernel's `order_of` says, up to the last tie, which the key breaks. It is fixed when a message is
accepted: a later change of the setting orders only what comes after it. Texts are told apart by their beginning.
"""

from decimal import Decimal
from typing import Any

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.groups import order_of

_LONGEST_TEXT = 300
"""An index of PostgreSQL does not hold much more than 2,000 bytes."""
_END = "\x01"
_ESCAPE = str.maketrans({"\x00": "\x02\x01", "\x01": "\x02\x02", "\x02": "\x02\x03"})
"""Nothing may be smaller than the end of a text, and no database keeps a NUL."""
_MIDDLE = 2**63
_EXPONENT = 10**9
_NINES = str.maketrans("0123456789", "9876543210")
_NEGATIVE, _ZERO, _POSITIVE = "1", "2", "3"
_MOST_DIGITS = 400


def place_of(message: InboxMessage, settings: InboxSettings) -> str:
    kind, number, text, event_at, position, _ = order_of(settings)(message)
    return f"{kind}{_number(number)}{_text(text)}{_instant(event_at)}{_instant(position)}"


def _text(text: str) -> str:
    # Half a pair of surrogates is no text for a database.
    readable = text[:_LONGEST_TEXT].encode("utf-8", "replace").decode()
    return readable.translate(_ESCAPE) + _END


def _instant(value: int) -> str:
    return f"{min(max(value + _MIDDLE, 0), 2 * _MIDDLE - 1):016x}"


def _number(value: Any) -> str:
    """Sign, magnitude, digits; of a negative number everything is turned round."""
    exact = Decimal(value)
    if exact.is_zero():
        return _ZERO
    if exact.is_infinite():
        return f"{_POSITIVE}~" if exact > 0 else f"{_NEGATIVE}!"
    digits = "".join(map(str, exact.as_tuple().digits)).rstrip("0")[:_MOST_DIGITS]
    size = f"{exact.adjusted() + _EXPONENT:010}"
    if exact > 0:
        return f"{_POSITIVE}{size}{digits}{_END}"
    return f"{_NEGATIVE}{size.translate(_NINES)}{digits.translate(_NINES)}~"

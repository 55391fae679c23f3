"""JSON as it is stored: numbers keep every digit, so a fraction is read as a Decimal and never as a float."""

from decimal import Decimal
from typing import Any

import msgspec

_encode = msgspec.json.Encoder(decimal_format="number").encode
read_json = msgspec.json.Decoder(float_hook=Decimal).decode


def json_text(value: Any) -> str:
    return _encode(value).decode()


json_bytes = _encode


def is_storable(value: Any) -> bool:
    """Is it JSON, and text that can be written down? What a client hands in may be neither."""
    try:
        _encode(value)
    except (TypeError, UnicodeEncodeError, RecursionError, msgspec.MsgspecError):
        return False
    return True


def is_text(value: str) -> bool:
    """Can every store write it down?"""
    if "\0" in value:
        return False
    try:
        return value.isascii() or bool(value.encode())
    except UnicodeEncodeError:
        return False

"""JSON as it is stored: numbers keep every digit, so a fraction is read as a Decimal and never as a float.

What a client, a file or another server wrote is read by `read_client_json`: whatever it answers can be stored. What we
have written ourselves is read by `read_json`: also what was allowed before there were bounds.
"""

import re
from decimal import Decimal
from typing import Any

import msgspec

from conjoin.kernel.storable import MOST_BYTES, MOST_DEPTH, read_fraction, unstorable

_encode = msgspec.json.Encoder(decimal_format="number").encode
read_json = msgspec.json.Decoder(float_hook=Decimal).decode

_MOST_BRACKETS = MOST_DEPTH // 2
_E, _N, _I = b"ENI"
"""Bytes are found at once; what comes after them is looked for only then."""
_large_exponent = re.compile(rb"E[+-][0-9]{4}").search
_not_a_number = re.compile(rb"NaN").search
_infinity = re.compile(rb"Infinity").search
NOT_JSON = (msgspec.DecodeError, UnicodeError, RecursionError)
"""What the decoders raise, and nothing else."""


def json_text(value: Any) -> str:
    return _encode(value).decode()


json_bytes = _encode


def client_decoder(type_: Any = Any) -> msgspec.json.Decoder[Any]:
    """For what others wrote; to be used with `decode_client_json`."""
    return msgspec.json.Decoder(type_, float_hook=read_fraction)


def decode_client_json(decoder: msgspec.json.Decoder[Any], text: bytes | str) -> Any:
    """Raises one of `NOT_JSON` for what is none, or could not be stored."""
    value = decoder.decode(text)
    if may_be_deep(text.encode() if isinstance(text, str) else text):
        # Numbers and texts are bounded by the decoder; only now can it be nested too deeply.
        problem = unstorable(msgspec.to_builtins(value, builtin_types=(Decimal,)))
        if problem is not None:
            raise msgspec.DecodeError(f"it {problem}")
    return value


_ANYTHING = client_decoder()


def read_client_json(text: bytes | str) -> Any:
    return decode_client_json(_ANYTHING, text)


def may_be_deep(text: bytes) -> bool:
    """Has it so many brackets that it could be nested too deeply?"""
    return len(text) > MOST_DEPTH and (text.count(b"[") > _MOST_BRACKETS or text.count(b"{") > _MOST_BRACKETS)


def unstorable_json(value: Any) -> str | None:
    """Why a value cannot be stored; None: it can. The kernel's rule, applied only where encoding leaves a doubt."""
    try:
        text = _encode(value)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return unstorable(value) or "is not JSON"
    # A Decimal with a large exponent, or one that is no number, is written without complaint.
    is_strange = (
        (_E in text and _large_exponent(text))
        or (_N in text and _not_a_number(text))
        or (_I in text and _infinity(text))
    )
    return unstorable(value) if is_strange or len(text) > MOST_BYTES or may_be_deep(text) else None

"""String functions. Characters are Unicode code points; positions count from 1, or from -1 backwards."""

from base64 import b64decode, b64encode

from conjoin.feel.functions.lists import part
from conjoin.feel.functions.signatures import Overload, overload
from conjoin.feel.patterns import extracted, found, replaced, split


def _from_base64(text: str) -> str | None:
    try:
        return b64decode(text, validate=True).decode("utf-8")
    except ValueError:
        return None


_TWO = "string:string, match:string"
_OVERLOADS: dict[str, Overload] = {
    "substring": overload("string:string, start position:number, length?:number", part),
    "string length": overload("string:string", len),
    "upper case": overload("string:string", str.upper),
    "lower case": overload("string:string", str.lower),
    "substring before": overload(_TWO, lambda text, match: text.partition(match)[0] if match and match in text else ""),
    "substring after": overload(_TWO, lambda text, match: text.partition(match)[2] if match else text),
    "contains": overload(_TWO, lambda text, match: match in text),
    "starts with": overload(_TWO, str.startswith),
    "ends with": overload(_TWO, str.endswith),
    "matches": overload("input:string, pattern:string, flags?:string?", found, spends=True),
    "replace": overload("input:string, pattern:string, replacement:string, flags?:string?", replaced, spends=True),
    "split": overload("string:string, delimiter:string", split, spends=True),
    "extract": overload("string:string, pattern:string", extracted, spends=True),
    "trim": overload("string:string", str.strip),
    "is blank": overload("string:string", lambda text: not text.strip()),
    "to base64": overload("value:string", lambda text: b64encode(text.encode("utf-8", "replace")).decode("ascii")),
    "from base64": overload("value:string", _from_base64),
}
STRINGS: dict[str, tuple[Overload, ...]] = {name: (only,) for name, only in _OVERLOADS.items()}

"""URLs and values of settings as they may be shown, in an error, a log or a banner: without the secrets in them."""

from collections.abc import Mapping
from typing import Any

_HIDDEN = "(hidden)"
_OTHERS_TOO = "?#"


def shown_url(text: str) -> str:
    """Scheme, user, host and path; no password, query or fragment. In doubt less, as a password may have any sign."""
    scheme, found, whole = text.partition("://")
    if not found:
        return _HIDDEN if "@" in text else text
    credentials, at, rest = whole.rpartition("@")
    if any(sign in credentials for sign in _OTHERS_TOO):
        return f"{scheme}://{_HIDDEN}"
    for sign in _OTHERS_TOO:
        rest = rest.partition(sign)[0]
    return f"{scheme}://{credentials.partition(':')[0]}{at}{rest}"


def kind_of(value: Any) -> str:
    """What stands there, without what it is."""
    if isinstance(value, Mapping):
        return "a table"
    if isinstance(value, (list, tuple)):
        return "a list"
    return "a text" if isinstance(value, str) else f"the value {value!r}"

"""The address of a target: an http or https URL without user, query or fragment."""

from typing import NamedTuple
from urllib.parse import urlsplit


class Address(NamedTuple):
    is_secure: bool
    host: str
    port: int | None
    path: str
    """What stands before the path of every request; it does not end with a slash."""

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port is None else f":{self.port}"
        return f"{'https' if self.is_secure else 'http'}://{host}{port}{self.path}"


def read_address(url: str) -> Address:
    """The address of a URL. ValueError says why it is none, and does not repeat it: it may hold a password."""
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").encode("idna").decode(), parts.port
    except ValueError:
        raise ValueError("is not a URL") from None
    if parts.scheme not in ("http", "https") or not host:
        raise ValueError("is not a URL such as http://host:8080/engine-rest")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError("may not have a user, a query or a fragment")
    if " " in url or not url.isprintable() or not parts.path.isascii():
        raise ValueError("has characters that must be escaped")
    return Address(parts.scheme == "https", host, port, parts.path.rstrip("/"))

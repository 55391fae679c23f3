"""Tokens and passwords, of which only hashes are kept.

A token is 256 random bits, so one round of SHA-256 is enough, and quick enough for every request; the id in it finds
its hash, and is no secret. A password is somebody's idea, so its hash is slow and salted. Compared in constant time.
"""

import hashlib
from base64 import b64decode, b64encode
from functools import cache
from hmac import compare_digest
from secrets import token_bytes, token_hex, token_urlsafe

_PREFIX = "cj"
_COST, _BLOCK, _PARALLEL = 2**14, 8, 5
"""Of new hashes, with 16 MB; older ones say themselves what they were made with."""


def new_token() -> str:
    return f"{_PREFIX}_{token_hex(6)}_{token_urlsafe(32)}"


def id_of_token(text: str) -> str | None:
    """None: it is no token of ours."""
    prefix, _, rest = text.partition("_")
    id_, _, secret = rest.partition("_")
    return id_ if prefix == _PREFIX and id_ and secret else None


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def is_token(token: str, stored: str) -> bool:
    return compare_digest(token_hash(token), stored)


def password_hash(password: str) -> str:
    salt = token_bytes(16)
    parts = (_COST, _BLOCK, _PARALLEL, _text(salt), _text(_slow(password, salt, _COST, _BLOCK, _PARALLEL)))
    return "scrypt:" + ":".join(map(str, parts))


@cache
def nobodys_hash() -> str:
    """Compared with for a name that is not known, so that this takes as long."""
    return password_hash(token_urlsafe(32))


def is_password(password: str, stored: str) -> bool:
    """Slow, on purpose. Nothing is right for a hash that cannot be read."""
    try:
        _, cost, block, parallel, salt, kept = stored.split(":")
        made = _slow(password, b64decode(salt), int(cost), int(block), int(parallel))
        return compare_digest(made, b64decode(kept))
    except ValueError:
        return False


def _slow(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    said = password.encode("utf-8", "surrogateescape")
    return hashlib.scrypt(said, salt=salt, n=cost, r=block, p=parallel, maxmem=64 * 1024 * 1024)


def _text(raw: bytes) -> str:
    return b64encode(raw).decode()

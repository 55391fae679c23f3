"""The file of callers, by name: their roles, and the hash of a token or of a password. It contains no secret.

A token is 256 random bits, so one round of SHA-256 is enough, and fast enough for every request; the id in it finds its
hash, and is no secret. Passwords are chosen by people, so their hash is slow and salted. Compared in constant time. The
file is read again when it has changed, so that a revoked token is refused a moment later; a file that can no longer be
read changes nothing, and is logged.
"""

import hashlib
import logging
import os
import time
from base64 import b64decode, b64encode
from collections.abc import Mapping
from functools import cache
from hmac import compare_digest
from pathlib import Path
from secrets import token_bytes, token_hex, token_urlsafe

import msgspec

from conjoin.errors import InputError

_PREFIX = "cj"
_COST, _BLOCK, _PARALLEL = 2**14, 8, 5
"""Of new hashes, with 16 MB; a hash has its own parameters in it."""
_LOOK_EVERY_S = 1.0
_LOG = logging.getLogger(__name__)


def new_token() -> str:
    return f"{_PREFIX}_{token_hex(6)}_{token_urlsafe(32)}"


def id_of_token(text: str) -> str | None:
    """None: it is not one of our tokens."""
    prefix, _, rest = text.partition("_")
    id_, _, secret = rest.partition("_")
    return id_ if prefix == _PREFIX and id_ and secret else None


def token_hash(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).hexdigest()


def is_token(token: str, stored: str) -> bool:
    return compare_digest(token_hash(token), stored)


def password_hash(password: str) -> str:
    salt = token_bytes(16)
    made = _slow(password, salt, _COST, _BLOCK, _PARALLEL)
    return f"scrypt:{_COST}:{_BLOCK}:{_PARALLEL}:{b64encode(salt).decode()}:{b64encode(made).decode()}"


@cache
def nobodys_hash() -> str:
    """For a check of an unknown name, which must take as long."""
    return password_hash(token_urlsafe(32))


def is_password(password: str, stored: str) -> bool:
    """Slow, on purpose. False for a hash that cannot be read."""
    try:
        _, cost, block, parallel, salt, kept = stored.split(":")
        made = _slow(password, b64decode(salt), int(cost), int(block), int(parallel))
        return compare_digest(made, b64decode(kept))
    except ValueError:
        return False


def _slow(password: str, salt: bytes, cost: int, block: int, parallel: int) -> bytes:
    text = password.encode("utf-8", "surrogateescape")
    return hashlib.scrypt(text, salt=salt, n=cost, r=block, p=parallel, maxmem=64 * 1024 * 1024)


class KnownCaller(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`token` is an id and a hash, with a colon between them."""

    roles: list[str]
    token: str | None = None
    password: str | None = None
    made_at: str | None = None


Callers = dict[str, KnownCaller]


def read_callers(path: Path) -> Callers:
    """A file that does not exist has none. Raises `InputError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Callers)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError([f"{path}: cannot be read as a file of callers: {error}"]) from None


def write_callers(path: Path, callers: Mapping[str, KnownCaller]) -> None:
    """Atomically; only its owner may read it."""
    # An unpredictable name, and a file that did not exist: nobody can have put a link there.
    made = path.with_name(f".{path.name}.{token_hex(8)}")
    written = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(written, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(callers), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except BaseException:  # whatever it was, no partial file with hashes is left behind
        made.unlink(missing_ok=True)
        raise


class CallerFile:
    """Raises `InputError` when it is made from a file that cannot be read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.by_name: Mapping[str, KnownCaller] = read_callers(path)
        self._by_token = _by_token(self.by_name)
        self._stamp = _stamp(path)
        self._look_at = time.monotonic() + _LOOK_EVERY_S

    def with_token(self, id_: str) -> tuple[str, KnownCaller, str] | None:
        """Name, caller and the hash of the token."""
        self._reload()
        return self._by_token.get(id_)

    def named(self, name: str) -> KnownCaller | None:
        self._reload()
        return self.by_name.get(name)

    def _reload(self) -> None:
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _LOOK_EVERY_S
        stamp = _stamp(self._path)
        if stamp == self._stamp:
            return
        try:
            self.by_name = read_callers(self._path)
        except InputError as error:
            _LOG.error("%s; the callers known before stay in force", error)
            return
        self._by_token, self._stamp = _by_token(self.by_name), stamp


def _by_token(callers: Mapping[str, KnownCaller]) -> dict[str, tuple[str, KnownCaller, str]]:
    found = {}
    for name, known in callers.items():
        id_, _, kept = (known.token or "").partition(":")
        if kept:
            found[id_] = (name, known, kept)
    return found


def _stamp(path: Path) -> tuple[int, int, int]:
    try:
        found = path.stat()
    except OSError:
        return (0, 0, 0)
    return (found.st_mtime_ns, found.st_size, found.st_ino)

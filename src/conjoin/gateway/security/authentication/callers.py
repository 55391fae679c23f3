"""The file of callers: by name, with their roles and the hash of a token or of a password. No secret is in it.

It is read again when it has changed, so that a token that was taken back is refused a moment later. A file that cannot
be read any more changes nothing, and says so in the log.
"""

import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

import msgspec

from conjoin.errors import InputError

_LOOK_EVERY_S = 1.0
_LOG = logging.getLogger(__name__)


class KnownCaller(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """`token` is the id of one and its hash, with a colon between them."""

    roles: list[str]
    token: str | None = None
    password: str | None = None
    made_at: str | None = None


Callers = dict[str, KnownCaller]


def read_callers(path: Path) -> Callers:
    """None are in a file that is not there. Raises `InputError`."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Callers)
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError([f"{path}: cannot be read as a file of callers: {error}"]) from None


def write_callers(path: Path, callers: Mapping[str, KnownCaller]) -> None:
    """All of it or nothing; only its owner may read it."""
    # A name that nobody can have put something under, and a file that was not there before.
    made = path.with_name(f".{path.name}.{token_hex(8)}")
    written = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(written, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(callers), indent=2) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    except BaseException:  # whatever it was, half a file with hashes is not left behind
        made.unlink(missing_ok=True)
        raise


class CallerFile:
    """Made with a file that must be usable."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.by_name: Mapping[str, KnownCaller] = read_callers(path)
        self._by_token = _by_token(self.by_name)
        self._stamp = _stamp(path)
        self._look_at = time.monotonic() + _LOOK_EVERY_S

    def with_token(self, id_: str) -> tuple[str, KnownCaller, str] | None:
        """Name, caller and the hash of the token."""
        self._look()
        return self._by_token.get(id_)

    def named(self, name: str) -> KnownCaller | None:
        self._look()
        return self.by_name.get(name)

    def _look(self) -> None:
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
            _LOG.error("%s; those that were known before still are", error)
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

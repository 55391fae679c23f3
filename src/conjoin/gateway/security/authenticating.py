"""Who calls: by a token of ours, a token of an issuer, or a name and password, as HTTP and gRPC carry them alike.

A browser asks for name and password; a token may stand in the place of the password. What is wrong is not told to
whoever cannot say who they are, and no secret is logged.
"""

import asyncio
import time
from base64 import b64decode
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from secrets import token_bytes
from typing import TYPE_CHECKING, Any

from conjoin.gateway.security.callers import CallerFile
from conjoin.gateway.security.grants import Caller, Grant
from conjoin.gateway.security.hashes import id_of_token, is_password, is_token, nobodys_hash
from conjoin.runtime.answers import Refusal

if TYPE_CHECKING:
    from conjoin.gateway.security.issuer import Issuer

_UNKNOWN = Refusal("UNAUTHENTICATED", "the token or the password is not right, or no longer: ask for a new one")
_NOBODY = Refusal("UNAUTHENTICATED", "who are you? Send a bearer token, or a name and password")
_BUSY = Refusal("RESOURCE_EXHAUSTED", "too many passwords are being checked: try again in a moment, or use a token")
_MOST_WAITING = 64
_REMEMBERED_S = 60.0
_MOST_REMEMBERED = 10_000


class Authenticating:
    def __init__(
        self, roles: Mapping[str, Grant], callers: CallerFile | None, issuer: "Issuer | None", claims: tuple[str, str]
    ) -> None:
        """`claims`: which of an issuer's claims has the name of a caller, and which its roles."""
        self._roles = roles
        self._callers = callers
        self._issuer = issuer
        self._name_claim, self._roles_claim = claims
        self._passwords = _Passwords()

    async def caller(self, headers: Mapping[str, str]) -> Caller | Refusal:
        scheme, _, said = headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            return await self._with_token(said.strip())
        if scheme.lower() == "basic":
            return await self._with_password(said.strip())
        return _NOBODY

    async def _with_token(self, token: str, name: str | None = None) -> Caller | Refusal:
        id_ = id_of_token(token)
        if id_ is None:
            return await self._of_issuer(token) if name is None else _UNKNOWN
        found = self._callers.with_token(id_) if self._callers is not None else None
        if found is None or not is_token(token, found[2]) or name not in (None, found[0]):
            return _UNKNOWN
        return self._known(found[0], found[1].roles)

    async def _of_issuer(self, token: str) -> Caller | Refusal:
        if self._issuer is None or not token.isascii():
            return _UNKNOWN
        claims = await self._issuer.claims_of(token)
        if isinstance(claims, Refusal):
            return claims
        name = None if claims is None else _claim(claims, self._name_claim)
        if claims is None or not isinstance(name, str) or not name:
            return _UNKNOWN
        roles = _claim(claims, self._roles_claim)
        return self._known(name, roles.split() if isinstance(roles, str) else roles or ())

    async def _with_password(self, said: str) -> Caller | Refusal:
        try:
            name, colon, password = b64decode(said, validate=True).decode().partition(":")
        except ValueError:
            return _UNKNOWN
        if not colon or self._callers is None:
            return _UNKNOWN
        if id_of_token(password) is not None:
            return await self._with_token(password, name)
        known = self._callers.named(name)
        kept = known.password if known is not None and known.password else nobodys_hash()
        is_right = await self._passwords.is_right(password, kept)
        if isinstance(is_right, Refusal):
            return is_right
        return self._known(name, known.roles) if is_right and known is not None else _UNKNOWN

    def _known(self, name: str, roles: Iterable[Any]) -> Caller:
        """Roles that are not ours allow nothing."""
        return Caller(name, tuple(self._roles[role] for role in roles if isinstance(role, str) and role in self._roles))


class _Passwords:
    """Checked in one thread, as this is slow on purpose; right ones are remembered for a while, by a hash."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "passwords")
        self._waiting = 0
        self._salt = token_bytes(32)
        self._right: dict[bytes, float] = {}

    async def is_right(self, password: str, kept: str) -> bool | Refusal:
        which = sha256(self._salt + kept.encode() + b"\0" + password.encode()).digest()
        now = time.monotonic()
        if self._right.get(which, 0.0) > now:
            return True
        if self._waiting >= _MOST_WAITING:
            return _BUSY
        self._waiting += 1
        try:
            loop = asyncio.get_running_loop()
            is_right = await loop.run_in_executor(self._thread, is_password, password, kept)
        finally:
            self._waiting -= 1
        if is_right:
            if len(self._right) >= _MOST_REMEMBERED:
                self._right.clear()
            self._right[which] = now + _REMEMBERED_S
        return is_right


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """`realm_access.roles`: a claim in a claim. One whose name has dots is found by its whole name, too."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value

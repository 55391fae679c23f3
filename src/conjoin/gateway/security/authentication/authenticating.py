"""Authentication: by a token of ours, a token of an issuer, or a name and password, the same for HTTP and gRPC.

A browser prompts for name and password; a token may be given as the password. The answer does not say what was wrong,
and no secret is logged.
"""

import logging
from base64 import b64decode
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from conjoin.gateway.security.authentication.callers import CallerFile, KnownCaller, id_of_token, is_token
from conjoin.gateway.security.authentication.passwords import PasswordCheck, PasswordChecks, Who, network_of
from conjoin.gateway.security.grants import Caller, Grant
from conjoin.gateway.statuses import TooManyRequests
from conjoin.runtime.client_api.answers import Refusal

if TYPE_CHECKING:
    from conjoin.gateway.security.authentication.issuer import Issuer

_UNKNOWN = Refusal("UNAUTHENTICATED", "the token or the password is not right, or no longer: ask for a new one")
_NOBODY = Refusal("UNAUTHENTICATED", "authentication required: bearer token or basic auth")
_MOST_ADDRESSES = 10_000
_LOG = logging.getLogger(__name__)


class Authenticating:
    def __init__(
        self,
        roles: Mapping[str, Grant],
        callers: CallerFile | None,
        issuer: "Issuer | None" = None,
        claims: tuple[str, str] = ("sub", "roles"),
    ) -> None:
        """`claims`: the claims of an issuer's tokens that have the name of a caller, and its roles."""
        self._roles = roles
        self._callers = callers
        self._issuer = issuer
        self._name_claim, self._roles_claim = claims
        self._passwords = PasswordChecks()
        self._wrong_tokens: dict[str, int] = {}
        self.failed: Callable[[str], None] = lambda kind: None
        """Called for each failure with its kind: `password`, `token`, or `slowed` if nothing was checked."""

    async def caller(self, headers: Mapping[str, str], address: str = "") -> Caller | Refusal:
        scheme, _, credentials = headers.get("authorization", "").partition(" ")
        kind = scheme.lower()
        found: Caller | Refusal = _NOBODY
        if kind == "bearer":
            found = await self._with_token(credentials.strip())
        elif kind == "basic":
            found = await self._with_password(credentials.strip(), network_of(address))
        if isinstance(found, TooManyRequests):
            self.failed("slowed")
        elif isinstance(found, Refusal) and scheme and found.code == "UNAUTHENTICATED":
            self.failed({"basic": "password", "bearer": "token"}.get(kind, "other"))
            if kind != "basic":
                self._log_token(network_of(address))
        return found

    def _log_token(self, address: str) -> None:
        """The first from an address, the second, the fourth: the log stays short, however many come."""
        if len(self._wrong_tokens) > _MOST_ADDRESSES:
            self._wrong_tokens.clear()
        count = self._wrong_tokens[address] = self._wrong_tokens.get(address, 0) + 1
        if count & (count - 1) == 0:
            _LOG.warning("wrong token from %s, %d so far", address or "?", count)

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

    async def _with_password(self, credentials: str, address: str) -> Caller | Refusal:
        try:
            name, colon, password = b64decode(credentials, validate=True).decode().partition(":")
        except ValueError:
            return _UNKNOWN
        if not colon or self._callers is None:
            return _UNKNOWN
        if id_of_token(password) is not None:
            return await self._with_token(password, name)
        known: KnownCaller | None = self._callers.named(name)
        if known is not None and known.password:
            check = PasswordCheck(known.password, True)
        else:
            others = self._callers.by_name.values()
            check = PasswordCheck(next((it.password for it in others if it.password), ""), False)
        is_right = await self._passwords.is_right(Who(name[:200], address), password, check)
        if isinstance(is_right, Refusal):
            return is_right
        return self._known(name, known.roles) if is_right and known is not None and known.password else _UNKNOWN

    def _known(self, name: str, roles: Iterable[Any]) -> Caller:
        """Roles that are not configured here allow nothing."""
        return Caller(name, tuple(self._roles[role] for role in roles if isinstance(role, str) and role in self._roles))


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """`realm_access.roles` is a claim in a claim. A claim with dots in its name is found by its whole name, too."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return value

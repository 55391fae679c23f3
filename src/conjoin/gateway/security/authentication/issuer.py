"""Tokens of an issuer (OIDC): signed with one of its keys and a configured algorithm, for our audience, not expired.

The keys come from a file or a URL and are cached. An unknown key id causes a refresh, so an issuer may rotate its keys
at any time; how often they are read is limited, whatever tokens come in.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, Request, build_opener

import jwt
import msgspec

from conjoin.runtime.client_api.answers import Refusal
from conjoin.shown_urls import shown_url

if TYPE_CHECKING:
    from conjoin.gateway.security.configuration import OidcSettings

_LOG = logging.getLogger(__name__)
_CACHED_S = 300.0
_AGAIN_AFTER_S = 10.0
_TIMEOUT_S = 5
_MOST_BYTES = 1024 * 1024
_LEEWAY_S = 30
_REMEMBERED_S = 60.0
_MOST_REMEMBERED = 10_000
_NO_KEYS = Refusal("UNAVAILABLE", "the keys of the issuer of tokens cannot be read: try again in a moment")

Claims = Mapping[str, Any]


class _NoRedirects(HTTPRedirectHandler):
    """Keys come from the configured URL only: another one may be anybody's, and without TLS."""

    def redirect_request(self, req: Request, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        raise HTTPError(shown_url(req.full_url), code, "it redirects, and we do not follow", headers, fp)


_OPENER = build_opener(_NoRedirects)


def read_keys(where: str) -> Mapping[str, Any]:
    """By their id. Raises `OSError` or `ValueError`."""
    if where.startswith(("https://", "http://")):
        with _OPENER.open(where, timeout=_TIMEOUT_S) as answer:
            content = answer.read(_MOST_BYTES)
    else:
        content = Path(where).read_bytes()
    try:
        found = jwt.PyJWKSet.from_dict(msgspec.json.decode(content))
    except (msgspec.MsgspecError, jwt.PyJWTError, AttributeError, TypeError) as error:
        raise ValueError(f"no set of keys: {error}") from None
    return {key.key_id or "": key for key in found.keys}


class Issuer:
    def __init__(self, trusted: "OidcSettings", read: Callable[[str], Mapping[str, Any]] = read_keys) -> None:
        self._trusted = trusted
        self._read = read
        self._keys: Mapping[str, Any] = {}
        self._read_at = -_CACHED_S
        self._lock = asyncio.Lock()
        self._verified: dict[bytes, tuple[float, Claims]] = {}

    async def claims_of(self, token: str) -> Claims | Refusal | None:
        """None: it is not valid. A refusal: that cannot be decided, as there are no keys."""
        which, now = sha256(token.encode()).digest(), time.monotonic()
        until, claims = self._verified.get(which, (0.0, None))
        if claims is not None and now < until and float(claims["exp"]) > time.time():
            return claims
        key = await self._key(token)
        if isinstance(key, Refusal):
            return key
        claims = None if key is None else self._checked(token, key)
        if claims is not None:
            if len(self._verified) >= _MOST_REMEMBERED:
                self._verified.clear()
            self._verified[which] = (now + _REMEMBERED_S, claims)
        return claims

    def _checked(self, token: str, key: Any) -> Claims | None:
        trusted = self._trusted
        try:
            claims: Claims = jwt.decode(
                token,
                key,
                algorithms=list(trusted.algorithms),
                issuer=trusted.issuer,
                audience=trusted.audience,
                leeway=_LEEWAY_S,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.PyJWTError as error:
            _LOG.info("a token was refused: %s", type(error).__name__)
            return None
        return claims

    async def _key(self, token: str) -> Any:
        try:
            header = jwt.get_unverified_header(token)
        except jwt.PyJWTError:
            return None
        if header.get("alg") not in self._trusted.algorithms:
            return None
        id_ = str(header.get("kid", ""))
        age = time.monotonic() - self._read_at
        if age >= _CACHED_S or (id_ not in self._keys and age >= _AGAIN_AFTER_S):
            await self._refresh()
        if not self._keys:
            return _NO_KEYS
        return self._keys.get(id_) or (next(iter(self._keys.values())) if not id_ and len(self._keys) == 1 else None)

    async def _refresh(self) -> None:
        requested_at = time.monotonic()
        async with self._lock:
            if self._read_at >= requested_at:
                # Another request has refreshed them meanwhile.
                return
            try:
                self._keys = await asyncio.to_thread(self._read, self._trusted.jwks)
            except (OSError, ValueError) as error:
                _LOG.warning("the keys of %s cannot be read: %s", self._trusted.issuer, error)
            self._read_at = time.monotonic()

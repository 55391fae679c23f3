"""Credentials that are asked for: a token by OAuth 2.0's client credentials (RFC 6749, 4.4), as Camunda 8 wants it.

A token is kept until shortly before it ends. One that the target refuses is renewed once, by one caller for all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import Protocol
from urllib.parse import urlencode

from conjoin.runtime.codec.json_text import NOT_JSON, read_client_json
from conjoin.runtime.targets.calls import CallBroken, TargetAnswer
from conjoin.runtime.targets.credentials import HIDDEN
from conjoin.shown_urls import shown_url

_MARGIN_S = 30.0
"""A token is not used any more so long before it ends; a short one not after half of its time."""
_UNTOLD_S = 300.0
"""How long a token is taken to last that does not say it."""
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


class TokenMissing(Exception):  # noqa: N818 - the name says what is the matter
    """There is no token, and why; no secret is in it."""


@dataclass(frozen=True, slots=True)
class OAuth:
    """Who asks whom for a token, and for what."""

    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    audience: str = ""
    scope: str = ""

    def form(self) -> bytes:
        asked = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.client_secret}
        asked |= {name: text for name, text in (("audience", self.audience), ("scope", self.scope)) if text}
        return urlencode(asked).encode()


class _Connections(Protocol):
    def exchange(self, method: str, url: str, headers: dict[str, str], body: bytes, /) -> TargetAnswer: ...
    def close(self) -> None: ...


class OAuthCredentials:
    """Any number of threads may ask at once. `clock` gives seconds."""

    def __init__(self, oauth: OAuth, connections: _Connections, clock: Callable[[], float] = monotonic) -> None:
        self._oauth, self._connections, self._clock = oauth, connections, clock
        self._lock = Lock()
        self._token, self._ends_at = "", 0.0

    def header(self) -> str:
        """Raises `TokenMissing`."""
        with self._lock:
            if self._clock() >= self._ends_at:
                self._fetch()
            return f"Bearer {self._token}"

    def renewed(self, refused: str) -> str:
        """A header other than the one that was refused. Raises `TokenMissing`."""
        with self._lock:
            if refused == f"Bearer {self._token}":
                self._fetch()
            return f"Bearer {self._token}"

    def hide(self, text: str) -> str:
        for secret in (self._token, self._oauth.client_secret):
            text = text.replace(secret, HIDDEN) if secret else text
        return text

    def close(self) -> None:
        self._connections.close()

    def _fetch(self) -> None:
        """It is noted only when it is whole, so a failure leaves nothing behind."""
        self._token, self._ends_at = "", 0.0
        where = f"no token from {shown_url(self._oauth.token_url)}"
        try:
            answer = self._connections.exchange("POST", self._oauth.token_url, dict(_FORM), self._oauth.form())
        except CallBroken as error:
            raise TokenMissing(f"{where}\nCaused by: {error}") from None
        # What it says may repeat the secret, and is not shown but for the code of its error.
        told = _read(answer.body)
        token, lasts = told.get("access_token"), told.get("expires_in")
        if answer.status != 200 or not isinstance(token, str) or not (token.isascii() and token.isprintable()):
            raise TokenMissing(f"{where}: it answered {answer.status}{_code(told)}")
        lasts_s = float(lasts) if isinstance(lasts, int | float) else _UNTOLD_S
        self._token, self._ends_at = token, self._clock() + max(lasts_s - _MARGIN_S, lasts_s / 2)


def _read(body: bytes) -> dict[str, object]:
    try:
        told = read_client_json(body)
    except NOT_JSON:
        return {}
    return told if isinstance(told, dict) else {}


def _code(told: dict[str, object]) -> str:
    code = told.get("error")
    return f" {code}" if isinstance(code, str) and code.isidentifier() and len(code) <= 40 else ""

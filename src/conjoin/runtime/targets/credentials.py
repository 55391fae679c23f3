"""Credentials of a target: a user with a password, a bearer token, or a token by OAuth 2.0.

They are shown nowhere: not in `repr`, not in a problem, and `hide` removes them from texts that others have written.
OAuth is the grant of client credentials (RFC 6749, 4.4), as Camunda 8 wants it: a token is kept until shortly before
it ends, and one that the target refuses is renewed once, by one caller for all.
"""

from base64 import b64encode
from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlencode

from conjoin.runtime.targets.calls import CallBroken, read_answer
from conjoin.setting_tables import Secret
from conjoin.shown_urls import shown_url

if TYPE_CHECKING:
    from conjoin.runtime.targets.connections import HttpConnections

_MARGIN_S = 30.0
"""A token is not used any more so long before it ends; a short one not after half of its time."""
_LASTS_S = 300.0
"""How long a token is taken to last that does not say it."""
_FORM = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


def _hidden(text: str, *secrets: str) -> str:
    for secret in filter(None, secrets):
        text = text.replace(secret, Secret.HIDDEN)
    return text


@dataclass(frozen=True, slots=True)
class Credentials:
    """Nothing given: the target is called without."""

    user: str = ""
    password: str = field(default="", repr=False)
    token: str = field(default="", repr=False)

    def header(self) -> str:
        """The value of the header; empty for none."""
        if self.token:
            return f"Bearer {self.token}"
        return f"Basic {self._pair()}" if self.user else ""

    def problem(self) -> tuple[str, str] | None:
        """Which of them cannot be used, and why, without showing it."""
        if self.token and (self.user or self.password):
            return "token", "there is also a user or a password; only one of both can be sent"
        if self.password and not self.user:
            return "password", "there is no user"
        if ":" in self.user:
            return "user", "must not have a colon"
        if not (self.token.isascii() and self.token.isprintable()) or " " in self.token:
            return "token", "has characters that no token has"
        return None

    def hide(self, text: str) -> str:
        return _hidden(text, self.token, self._pair() if self.user else "", self.password)

    def _pair(self) -> str:
        return b64encode(f"{self.user}:{self.password}".encode()).decode()

    def close(self) -> None:
        """Nothing is open."""


class TokenMissing(Exception):  # noqa: N818 - the name says what is the matter
    """There is no token, and why; no secret is in it."""


@dataclass(frozen=True, slots=True)
class OAuth:
    token_url: str
    client_id: str
    client_secret: str = field(repr=False)
    audience: str = ""
    scope: str = ""

    def form(self) -> bytes:
        fields = {"grant_type": "client_credentials", "client_id": self.client_id, "client_secret": self.client_secret}
        fields |= {name: text for name, text in (("audience", self.audience), ("scope", self.scope)) if text}
        return urlencode(fields).encode()


class OAuthCredentials:
    """Any number of threads may use it at once. `clock` gives seconds."""

    def __init__(self, oauth: OAuth, connections: "HttpConnections", clock: Callable[[], float] = monotonic) -> None:
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
        return _hidden(text, self._token, self._oauth.client_secret)

    def close(self) -> None:
        self._connections.close()

    def _fetch(self) -> None:
        """It is kept only when it is whole, so a failure leaves nothing behind."""
        self._token, self._ends_at = "", 0.0
        where = f"no token from {shown_url(self._oauth.token_url)}"
        try:
            answer = self._connections.exchange("POST", self._oauth.token_url, dict(_FORM), self._oauth.form())
        except CallBroken as error:
            raise TokenMissing(f"{where}\nCaused by: {error}") from None
        body = read_answer(answer.body)
        fields = body if isinstance(body, dict) else {}
        token, lasts, code = fields.get("access_token"), fields.get("expires_in"), fields.get("error")
        if answer.status != 200 or not isinstance(token, str) or not (token.isascii() and token.isprintable()):
            # The answer may repeat the secret: only the code of its error is shown.
            is_code = isinstance(code, str) and code.isidentifier() and len(code) <= 40
            raise TokenMissing(f"{where}: it answered {answer.status}{f' {code}' if is_code else ''}")
        lasts_s = float(lasts) if isinstance(lasts, int | float) else _LASTS_S
        self._token, self._ends_at = token, self._clock() + max(lasts_s - _MARGIN_S, lasts_s / 2)

"""The webhook: takes a notice to a URL. Only an answer from 200 to 299 counts as told; redirects are not followed.

With a secret it is signed, so that the receiver knows who sent it and when: `X-Conjoin-Signature: t=SECONDS,v1=HEX`,
where HEX is the HMAC-SHA256 of `SECONDS.BODY`.
"""

import hmac
import ssl
from collections.abc import Callable
from importlib.util import find_spec
from time import time

from conjoin.errors import ExtraMissing
from conjoin.runtime.targets.calls import CallBroken, HttpLimits

SIGNATURE = "X-Conjoin-Signature"
_LIMITS = HttpLimits(connect_timeout_ms=10_000, answer_timeout_ms=10_000, calls_in_flight=1, answer_max=1_024)


def check_http() -> None:
    """Raises `ExtraMissing`."""
    if find_spec("httpcore") is None:
        raise ExtraMissing("a notice to a webhook", "httpx", "client")


class Webhook:
    """One URL, whose connection is kept. `clock` gives seconds since 1970."""

    def __init__(self, url: str, authorization: str = "", secret: str = "", clock: Callable[[], float] = time) -> None:
        from conjoin.runtime.targets.connections import HttpConnections

        self._url, self._authorization, self._secret, self._clock = url, authorization, secret, clock
        context = ssl.create_default_context() if url.lower().startswith("https:") else None
        self._connections = HttpConnections(_LIMITS, context)

    def send(self, notice_id: str, body: bytes) -> str:
        """Why it was not told; empty if it was."""
        headers = {"Content-Type": "application/json", "Idempotency-Key": notice_id}
        if self._authorization:
            headers["Authorization"] = self._authorization
        if self._secret:
            headers[SIGNATURE] = signature(self._secret, int(self._clock()), body)
        try:
            status = self._connections.exchange("POST", self._url, headers, body).status
        except CallBroken as error:
            # What else it says may quote the URL, and with it a secret.
            why = getattr(error.cause, "strerror", None)
            return f"{type(error.cause).__name__}: {why}" if why else type(error.cause).__name__
        return "" if 200 <= status < 300 else f"it answered {status}"


def signature(secret: str, at_s: int, body: bytes) -> str:
    """The value of the header."""
    return f"t={at_s},v1={hmac.new(secret.encode(), b'%d.%b' % (at_s, body), 'sha256').hexdigest()}"

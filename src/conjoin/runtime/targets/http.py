"""A target that is called over HTTP: a message goes in, an outcome comes out, and one call lies between.

The carrier takes a request to an address and brings the answer back, or says how far it got. Before the last byte of
a request is out the target cannot have the message: the call has failed. From then until the answer is read it may have
it: the call is unanswered. Nothing that a message, a target or a network does is raised.
"""

import ssl
from collections.abc import Callable
from dataclasses import replace
from time import time_ns
from typing import NamedTuple
from urllib.parse import urlsplit

from conjoin.kernel.inbox.message import TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Unanswered
from conjoin.runtime.targets.calls import CallBroken, HttpLimits, TargetAnswer, TargetDialect, TargetRequest
from conjoin.runtime.targets.credentials import Credentials, OAuth, OAuthCredentials, TokenMissing

_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


def read_address(url: str) -> str:
    """A URL as it is called, without a slash at its end. ValueError says why it cannot be, and does not repeat it."""
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
    shown_host = f"[{host}]" if ":" in host else host
    return f"{parts.scheme}://{shown_host}{'' if port is None else f':{port}'}{parts.path.rstrip('/')}"


class HttpTls(NamedTuple):
    """Files: who vouches for the target, if not those whom the machine trusts; and our own certificate, for mTLS."""

    ca_file: str = ""
    certificate: str = ""
    key: str = ""

    def context(self) -> ssl.SSLContext:
        """Raises `OSError` for files that are missing or cannot be used."""
        context = ssl.create_default_context(cafile=self.ca_file or None)
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key or None, password="")
        return context


class HttpCarrier:
    """Any number of threads may call at once. ValueError: the URL cannot be used; `ExtraMissing`: httpx is missing."""

    def __init__(
        self,
        url: str,
        credentials: Credentials | OAuth | None = None,
        limits: HttpLimits | None = None,
        tls: HttpTls | None = None,
        use_proxy: bool = False,
    ) -> None:
        from conjoin.runtime.targets.connections import HttpConnections, environment_proxy

        def connections(address: str) -> HttpConnections:
            context = (tls or HttpTls()).context() if address.startswith("https:") else None
            return HttpConnections(limits or HttpLimits(), context, environment_proxy(address) if use_proxy else "")

        self.made_of = url, credentials, limits or HttpLimits(), tls, use_proxy
        self.address = read_address(url)
        self._connections = connections(self.address)
        self.credentials: Credentials | OAuthCredentials
        if isinstance(credentials, OAuth):
            self.credentials = OAuthCredentials(credentials, connections(credentials.token_url))
        else:
            self.credentials = credentials or Credentials()

    def call(self, request: TargetRequest) -> TargetAnswer | Failed | Unanswered:
        """A token that the target no longer accepts is renewed once."""
        try:
            header = self.credentials.header()
            answer = self._send(request, header)
            if answer.status == 401 and isinstance(self.credentials, OAuthCredentials):
                answer = self._send(request, self.credentials.renewed(header))
            return answer
        except TokenMissing as error:
            return Failed(TARGET_ERROR, f"{self.address} cannot be called: {error}")
        except CallBroken as error:
            cause = f"\nCaused by: {error}"
            if error.is_sent:
                return Unanswered(f"{self.address} was asked and did not answer; it may have the message{cause}")
            broken, unreachable = "broke off before the request was sent", "cannot be reached; nothing was sent"
            return Failed(TARGET_ERROR, f"{self.address} {broken if error.is_connected else unreachable}{cause}")

    def close(self) -> None:
        self._connections.close()
        self.credentials.close()

    def _send(self, request: TargetRequest, authorization: str) -> TargetAnswer:
        headers = _JSON | ({"Authorization": authorization} if authorization else {})
        return self._connections.exchange(request.method, f"{self.address}{request.path}", headers, request.body)


class TargetRecipe(NamedTuple):
    """What a target is made of, its secrets with it, as plain values: so another process of ours can call it, too."""

    dialect: TargetDialect
    url: str
    credentials: Credentials | OAuth | None
    limits: HttpLimits
    tls: HttpTls | None
    use_proxy: bool

    def with_calls_in_flight(self, number: int) -> "TargetRecipe":
        return self._replace(limits=replace(self.limits, calls_in_flight=number))

    def made(self) -> "RemoteTarget":
        return RemoteTarget(self.dialect, HttpCarrier(*self[1:]))


class RemoteTarget:
    """Any number of threads may deliver at once. `clock` gives the instant in microseconds."""

    def __init__(
        self, dialect: TargetDialect, carrier: HttpCarrier, clock: Callable[[], int] = lambda: time_ns() // 1_000
    ) -> None:
        self._dialect = dialect
        self._carrier = carrier
        self._clock = clock

    def deliver(self, message: InboxMessage) -> Delivered | Failed | Unanswered:
        request = self._dialect.request_of(message, self._clock())
        if isinstance(request, Failed):
            return request
        answer = self._carrier.call(request)
        outcome = self._dialect.outcome_of(answer) if isinstance(answer, TargetAnswer) else answer
        if isinstance(outcome, Delivered):
            return outcome
        return replace(outcome, text=self._carrier.credentials.hide(outcome.text))

    def asked(self, message: InboxMessage) -> str:
        """For a look before anything is sent (docs/inbox-targets.md): the request that `deliver` would make; empty if
        the message cannot be mapped."""
        request = self._dialect.request_of(message, self._clock())
        if isinstance(request, Failed):
            return ""
        return f"{request.method} {self._carrier.address}{request.path} {request.body.decode()}"

    @property
    def recipe(self) -> TargetRecipe:
        """Without its clock: elsewhere it is the machine's."""
        return TargetRecipe(self._dialect, *self._carrier.made_of)

    def close(self) -> None:
        self._carrier.close()

"""The carrier: takes a request to an address and brings the answer back, or says how far it got.

It does not know what is asked. Before the last byte of a request is out, the target cannot have the message: the call
has failed. After that, until the answer is read, nobody knows: it is unanswered. A token that the target does not
take any more is renewed once.
"""

import ssl
from typing import NamedTuple

from conjoin.kernel.inbox.message import TARGET_ERROR
from conjoin.kernel.inbox.outcomes import Failed, Unanswered
from conjoin.runtime.targets.address import read_address
from conjoin.runtime.targets.calls import CallBroken, HttpLimits, TargetAnswer, TargetRequest
from conjoin.runtime.targets.credentials import Credentials
from conjoin.runtime.targets.oauth import OAuth, OAuthCredentials, TokenMissing

_JSON = {"Content-Type": "application/json", "Accept": "application/json"}


class HttpTls(NamedTuple):
    """Files: who vouches for the target, if not those whom the machine trusts; and who we are, if it wants to know."""

    ca_file: str = ""
    certificate: str = ""
    key: str = ""

    def context(self) -> ssl.SSLContext:
        """Raises `OSError` for files that are not there, or are not what they should be."""
        context = ssl.create_default_context(cafile=self.ca_file or None)
        if self.certificate:
            context.load_cert_chain(self.certificate, self.key or None, password="")
        return context


class HttpCarrier:
    """Any number of threads may call at once. ValueError: the URL cannot be used; `ExtraMissing`: nothing can."""

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

        self.address = read_address(url)
        self._connections = connections(str(self.address))
        self.credentials: Credentials | OAuthCredentials
        if isinstance(credentials, OAuth):
            self.credentials = OAuthCredentials(credentials, connections(credentials.token_url))
        else:
            self.credentials = credentials or Credentials()

    def call(self, request: TargetRequest) -> TargetAnswer | Failed | Unanswered:
        try:
            header = self.credentials.header()
            answer = self._ask(request, header)
            if answer.status == 401 and isinstance(self.credentials, OAuthCredentials):
                answer = self._ask(request, self.credentials.renewed(header))
            return answer
        except TokenMissing as error:
            return Failed(TARGET_ERROR, f"{self.address} cannot be called: {error}")
        except CallBroken as error:
            return _outcome_of(error, str(self.address))

    def close(self) -> None:
        self._connections.close()
        self.credentials.close()

    def _ask(self, request: TargetRequest, authorization: str) -> TargetAnswer:
        headers = _JSON | ({"Authorization": authorization} if authorization else {})
        return self._connections.exchange(request.method, f"{self.address}{request.path}", headers, request.body)


def _outcome_of(error: CallBroken, address: str) -> Failed | Unanswered:
    if error.is_sent:
        return Unanswered(f"{address} was asked and did not answer; it may have the message\nCaused by: {error}")
    how = "broke off before the request was sent" if error.is_connected else "cannot be reached; nothing was sent"
    return Failed(TARGET_ERROR, f"{address} {how}\nCaused by: {error}")

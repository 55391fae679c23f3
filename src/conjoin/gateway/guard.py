"""The guard: who comes in, and what of the service is theirs. Each edge asks it before anything else of a call is read.

`allow_all` is for a server on the loopback address; the one that asks who is there is in `security/`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from conjoin.gateway.service import Service
from conjoin.runtime.answers import Refusal

_ELSEWHERE = Refusal("FORBIDDEN", "the request was sent by a page of another site")


class Admitted(NamedTuple):
    """The service as far as it is theirs. `who` is empty if nobody was asked."""

    service: Service
    who: str = ""


class Guard(Protocol):
    async def admit(self, call: str, headers: Mapping[str, str], service: Service) -> Admitted | Refusal:
        """`call` is the name of a gRPC call, or method and path; names of headers are in small letters."""

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        """It was done, or not: written down if an operator did it."""


class _AllowAll:
    async def admit(self, call: str, headers: Mapping[str, str], service: Service) -> Admitted | Refusal:
        return from_another_site(call, headers) or Admitted(service)

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        pass


allow_all: Guard = _AllowAll()


def from_another_site(call: str, headers: Mapping[str, str]) -> Refusal | None:
    """A browser sends what it knows of us (a password, or just the way to this machine) along with anybody's page."""
    is_change = call.startswith(("POST ", "PUT ", "PATCH ", "DELETE "))
    return _ELSEWHERE if is_change and headers.get("sec-fetch-site") == "cross-site" else None

"""The guard: who comes in, and what of the service is theirs. Each edge asks it before anything else of a call is read.

`allow_all` is for a server on the loopback address; the one that asks who is there is in `security/`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal

_A_PAGE = Refusal("FORBIDDEN", "the call was sent by a page of a browser")


class Admitted(NamedTuple):
    """The service as far as it is theirs. `who` is empty if nobody was asked."""

    service: Service
    who: str = ""


class Guard(Protocol):
    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        """`call` is the name of a gRPC call, or method and path; names of headers are in small letters. `address` is
        where it came from, without a port."""

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        """It was done, or not: written down if an operator did it."""


class _AllowAll:
    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        return Admitted(service)

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        pass


allow_all: Guard = _AllowAll()


def from_a_page(call: str, headers: Mapping[str, str]) -> Refusal | None:
    """Browsers cannot speak gRPC, so a call that names an origin is a forgery. What REST may take, its edge decides."""
    return _A_PAGE if " " not in call and "origin" in headers else None

"""The guard admits calls of gRPC and REST, before their bodies are read: who calls, and what they may use.

`allow_all` is for a server on the loopback address; the guard that authenticates is in `security/`.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

from conjoin.gateway.service import Service
from conjoin.runtime.client_api.answers import Refusal

_A_PAGE = Refusal("FORBIDDEN", "the call was sent by a page of a browser")


class Admitted(NamedTuple):
    """The service as this caller may use it. `who` is empty without authentication."""

    service: Service
    who: str = ""


class Guard(Protocol):
    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        """`call` is the name of a gRPC call, or method and path; names of headers are in lower case. `address` is that
        of the client, without a port."""

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        """The outcome of a call: audited if it is an action of operators."""


class _AllowAll:
    async def admit(
        self, call: str, headers: Mapping[str, str], service: Service, address: str = ""
    ) -> Admitted | Refusal:
        return Admitted(service)

    def note(self, who: str, call: str, what: Mapping[str, Any], outcome: str) -> None:
        pass


allow_all: Guard = _AllowAll()


def from_a_page(call: str, headers: Mapping[str, str]) -> Refusal | None:
    """Browsers cannot speak gRPC, so a call with an origin is a forgery. For REST this is checked by `http/edge.py`."""
    return _A_PAGE if " " not in call and "origin" in headers else None

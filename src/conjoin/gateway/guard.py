"""The guard: who may do what. Each edge asks it before a call goes to the service.

So far there is one that lets everybody pass, for a server on the loopback address.
"""

from collections.abc import Callable, Mapping

from conjoin.runtime.answers import Refusal

Guard = Callable[[str, Mapping[str, str]], Refusal | None]
"""The name of a call (of gRPC, or method and path) and its headers, in small letters; a refusal, or None: let it in."""


def allow_all(call: str, headers: Mapping[str, str]) -> Refusal | None:
    return None

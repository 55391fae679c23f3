"""Names for the instances that messages start: the same in every run, however the rows are partitioned."""

from hashlib import blake2b
from typing import Any, NamedTuple


class Cause(NamedTuple):
    """What tells one started instance from another."""

    process_id: str
    tenant_id: str
    key: str
    name: str
    published_at: int
    message_id: str
    position: Any
    variables: Any


class InstanceNames:
    """Of causes equal in everything, the second gets a number."""

    def __init__(self) -> None:
        self._given: dict[str, int] = {}

    def name(self, cause: Cause) -> str:
        name = "i-" + blake2b(repr(tuple(cause)).encode(), digest_size=8).hexdigest()
        self._given[name] = count = self._given.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"

    def end_key(self) -> None:
        self._given.clear()

"""The catalog snapshot that the rules read: start subscriptions and policies.

A start subscription belongs to a deployed process and holds from one instant until another. The snapshot is an
argument; it is never changed by the rules.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.keys import InstanceId
from conjoin.kernel.policies import Policies

if TYPE_CHECKING:
    from conjoin.kernel.correlation.messages import Message


@dataclass(frozen=True, slots=True)
class StartSubscription:
    """A message start event of a deployed process, while that version is the latest."""

    process_id: str
    name: str
    tenant_id: str
    element_id: str | None = None
    from_at: int = ALWAYS
    until_at: int = NEVER
    definition_key: int = 0
    """Of the version that is started; older definitions come first (E10)."""

    @property
    def age_order(self) -> tuple[int, int, str, str]:
        return (self.from_at, self.definition_key, self.process_id, self.element_id or "")


NewInstance = Callable[[str, str, "Message", StartSubscription], InstanceId]
"""Gives the instance its key that a message of a tenant starts on a correlation key."""
IsFree = Callable[[str, str, "Message"], bool]
"""Whether a business id that a message brings may start the process of a tenant now (Q8)."""


class Catalog:
    """Which message starts what, and the policies in force.

    Nothing of it changes. `asking` makes another one of the same start subscriptions and policies that gives keys to
    instances, or knows which business ids are held; by default every id may start a process.
    """

    __slots__ = ("_by_name", "_by_process", "is_free", "new_instance", "policies")

    def __init__(
        self,
        starts: Iterable[StartSubscription] = (),
        policies: Policies | None = None,
        new_instance: NewInstance = lambda tenant_id, key, message, start: f"{start.process_id}/{message.key}",
        is_free: IsFree = lambda tenant_id, process_id, message: True,
    ) -> None:
        self.policies = policies or Policies()
        self.new_instance = new_instance
        self.is_free = is_free
        by_name: dict[tuple[str, str], list[StartSubscription]] = {}
        by_process: dict[tuple[str, str], list[StartSubscription]] = {}
        for start in sorted(starts, key=lambda s: s.age_order):
            by_name.setdefault((start.tenant_id, start.name), []).append(start)
            by_process.setdefault((start.tenant_id, start.process_id), []).append(start)
        self._by_name = {place: _Versions(some, lambda s: s.process_id) for place, some in by_name.items()}
        self._by_process = {place: _Versions(some, lambda s: s.name) for place, some in by_process.items()}

    def asking(self, new_instance: NewInstance, is_free: IsFree | None = None) -> "Catalog":
        made = Catalog.__new__(Catalog)
        made.policies, made._by_name, made._by_process = self.policies, self._by_name, self._by_process
        made.new_instance = new_instance
        made.is_free = self.is_free if is_free is None else is_free
        return made

    def starts_for(self, tenant_id: str, name: str, at: int) -> Sequence[StartSubscription]:
        """The start subscriptions of a message name, one a process, oldest definition first (E10)."""
        if not self._by_name:
            return ()
        versions = self._by_name.get((tenant_id, name))
        return () if versions is None else versions.latest or versions.valid_at(at)

    def starts_of(self, tenant_id: str, process_id: str, at: int) -> Sequence[StartSubscription]:
        """The start subscriptions of a process, one a message name, as of its latest version (G21)."""
        versions = self._by_process.get((tenant_id, process_id))
        return () if versions is None else versions.latest or versions.valid_at(at)


class _Versions:
    """The start subscriptions that compete over time; `latest` when it is the same at all times."""

    __slots__ = ("_same", "_starts", "latest")

    def __init__(self, starts: list[StartSubscription], same: Callable[[StartSubscription], str]) -> None:
        self._starts = starts
        self._same = same
        timeless = all(s.from_at == ALWAYS and s.until_at == NEVER for s in starts)
        self.latest = self.valid_at(0) if timeless else ()

    def valid_at(self, at: int) -> tuple[StartSubscription, ...]:
        latest = {self._same(s): s for s in self._starts if s.from_at <= at < s.until_at}
        return tuple(sorted(latest.values(), key=lambda s: s.age_order))

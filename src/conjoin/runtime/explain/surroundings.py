"""What lies around a key, for one message name: who could have taken a message, here, elsewhere, before or later.

What follows from the models is found here; what depends on who waits, by those who know where that is kept. It is
looked up when it is first needed, and once.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

from conjoin.kernel.correlation import KeySpace, Message
from conjoin.kernel.verdicts import ranking
from conjoin.kernel.verdicts.near_misses import MOST, NearMiss
from conjoin.kernel.verdicts.ranking import Miss
from conjoin.runtime.codec.key_spaces import read_spaces
from conjoin.runtime.explain import notes, similar
from conjoin.runtime.explain.awaited_keys import AwaitedKeys
from conjoin.runtime.explain.bearers import Bearers
from conjoin.runtime.explain.key_bearers import Sought
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.shard_views import ShardViews
from conjoin.runtime.explain.similar import Listener
from conjoin.runtime.visibility.scope import EVERYTHING, VisibleScope
from conjoin.store import tables as t
from conjoin.store.port import KeyRows


class Surroundings(ABC):
    def __init__(self, view: KeyView, name: str, scope: VisibleScope = EVERYTHING) -> None:
        """`scope`: what the caller may see."""
        self.view = view
        self.scope = scope
        self.name = name
        self.tenant_id = view.space.tenant_id
        versions = view.deployed.definitions.versions
        self.tenants = tuple({tenant: None for tenant, _ in versions if tenant != self.tenant_id})
        """Others with something deployed."""

    @property
    @abstractmethod
    def other_tenants(self) -> tuple[KeySpace, ...]:
        """The same key in other tenants, with what waits there for the name."""

    @abstractmethod
    def bearing(self, message: Message, kept: bool) -> list[NearMiss]:
        """Instances that will wait for it, or would if they did not stand still. `kept`: it waits for them."""

    @property
    @abstractmethod
    def other_keys(self) -> list[NearMiss]:
        """Who waits for the name with nearly this key."""

    @abstractmethod
    def version_of(self, instance: Any) -> int | None:
        """That an instance runs on."""

    @abstractmethod
    def with_holders(self, misses: Sequence[Miss]) -> list[Miss]:
        """With what is known of who holds a key."""

    @cached_property
    def listeners(self) -> list[Listener]:
        """Every element of a deployed model of the tenant that waits for messages."""
        return list(similar.listeners(self.view.deployed.definitions, self.tenant_id))

    @cached_property
    def waiting(self) -> list[Listener]:
        """Those that wait for the name, or may: it may be computed."""
        return [listener for listener in self.listeners if listener.may_wait_for(self.name)]

    @cached_property
    def elsewhere(self) -> list[NearMiss]:
        """What depends on the name alone."""
        return [*self._started_elsewhere(), *self._never_awaited()]

    def _started_elsewhere(self) -> Iterator[NearMiss]:
        for tenant in self.tenants:
            for listener in similar.listeners(self.view.deployed.definitions, tenant):
                if listener.name == self.name and listener.element in listener.definition.plan.starts:
                    who = {"process": listener.definition.process_id, "element": listener.element.id}
                    yield {"kind": "other_tenant", "tenant": tenant, **who}

    def _never_awaited(self) -> Iterator[NearMiss]:
        names = {listener.name: None for listener in self.listeners if listener.name is not None}
        if self.name in names:
            return
        miss: NearMiss = {"kind": "never_awaited"}
        if self.tenants:
            miss["tenant"] = self.tenant_id
        if nearest := similar.nearest_name(self.name, list(names)):
            miss["similar"] = nearest
        if computing := {it.definition.process_id: None for it in self.listeners if it.name is None}:
            miss["computed"] = list(computing)
        yield miss

    def judged_name(self, miss: Miss) -> Miss | None:
        """A look at the models tells whether another name may be meant: not where somebody else waits for this one."""
        if miss["kind"] != "other_name" or miss.get("differs") != ranking.QUITE_ANOTHER:
            return miss
        if similar.is_misspelled(self.name, miss["name"]):
            return {**miss, "differs": ranking.MISSPELLED}
        if not self.waiting:
            return miss
        knowing = {it.definition.version for it in self.waiting if it.definition.process_id == miss.get("process")}
        version = self.version_of(miss["instance"]) if knowing else None
        if version is None or version in knowing:
            return None
        return {**miss, "differs": ranking.VERSION, "version": version, "other_version": max(knowing)}


class KeySurroundings(Surroundings):
    """In a store."""

    def __init__(
        self, shards: ShardViews, view: KeyView, name: str, scope: VisibleScope = EVERYTHING, after_commit: bool = False
    ) -> None:
        """`after_commit`: for the answer to whoever has just published the message."""
        super().__init__(view, name, scope)
        self.after_commit = after_commit
        self._store = shards.store
        self._bearers = Bearers(shards, view, name, searched=not after_commit)
        self._awaited = AwaitedKeys(shards, self.tenant_id, name)

    @cached_property
    def other_tenants(self) -> tuple[KeySpace, ...]:
        if not self.tenants:
            return ()
        key, policy_of = self.view.space.key, self.view.deployed.policy_of
        where = {"tenant_id": self.tenants, "correlation_key": key, "name": self.name, "closed_at": None}
        rows = self._store.rows(t.SUBSCRIPTION, where, None, MOST)
        return tuple(
            read_spaces(tenant, [key], KeyRows(list(some), (), ()), policy_of)[key].space
            for tenant, some in groupby(rows, attrgetter("tenant_id"))
        )

    def bearing(self, message: Message, kept: bool) -> list[NearMiss]:
        sample = self._awaited.sample() if self.waiting else ()
        return self._bearers.misses(Sought(self.waiting, message.business_id, kept, sample))

    @cached_property
    def other_keys(self) -> list[NearMiss]:
        return self._awaited.near(self.view.space.key) if self.waiting and self.view.space.key else []

    def version_of(self, instance: Any) -> int | None:
        return next((row.version for row in self._store.rows(t.INSTANCE, {"key": instance}, None, 1)), None)

    def with_holders(self, misses: Sequence[Miss]) -> list[Miss]:
        return notes.with_holders(self._store, self.view, misses)

    def nobody(self) -> notes.Nobody:
        """Who ever waits for the name, where nobody was near."""

        def sees(process_id: str) -> bool:
            return self.scope.sees(self.tenant_id, self.name, process_id)

        which = (notes.awaited_by(self.waiting, sees), notes.computed_by(self.waiting, sees))
        return notes.Nobody(*which, self._last_similar(), self._bearers.looked_at, self._bearers.is_cut)

    def _last_similar(self) -> dict[str, Any] | None:
        """The last who waited for the name with a similar key, if somebody did who may be seen: with their own name."""
        some = self._awaited.stopped_similar
        seen = [it for it in some if self.scope.sees(self.tenant_id, it.name, it.row.process_id)]
        if not seen:
            return None
        at, row, _ = max(seen)
        who = {"process": row.process_id, "instance": row.instance_key}
        return {"key": row.correlation_key, **who, "closed_at": at}

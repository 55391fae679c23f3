"""Why a message of an engine in memory was not correlated: the same near misses as of a store, in the same order.

All that waits is at hand here, so nothing is left out for its number; what is near, the kernel says.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import Any, cast

from conjoin.kernel.correlation import KeySpace, Message
from conjoin.kernel.process.state import ElementInstance, Instance, Scope
from conjoin.kernel.verdicts.near_misses import NearMiss
from conjoin.kernel.verdicts.nearest import nearest
from conjoin.kernel.verdicts.sentences import sentence
from conjoin.kernel.verdicts.similar_keys import Awaited, folded, other_key
from conjoin.kernel.verdicts.verdicts import Verdict, parameters, verdict_of
from conjoin.runtime.engine.key_spaces import KeySpaces
from conjoin.runtime.engine.memory import Engine
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.engine.shard import Shard
from conjoin.runtime.explain.key_bearers import KeyBearer, Sought, StandingElement, awaiting, misses_of
from conjoin.runtime.explain.near_misses import all_misses
from conjoin.runtime.explain.surroundings import Surroundings
from conjoin.runtime.visibility.plain_values import to_plain
from conjoin.testing.observing.history import MessageHistory


class Told:
    """A verdict with its parameters, near misses included, and the sentence."""

    def __init__(self, engine: Engine, of: MessageHistory) -> None:
        shard = engine.shards[shard_of(of.correlation_key, len(engine.shards))]
        space = shard.spaces.at((of.tenant_id, of.correlation_key))
        self.verdict: Verdict = verdict_of(space, of.message, engine.now, shard.catalog)
        given = parameters(space, of.message, self.verdict, engine.now, shard.catalog)
        around = MemorySurroundings(engine, shard, space, of.message.name)
        self.near_misses = all_misses(around, of.message, self.verdict, given.get("near_misses", ()))
        if self.verdict.verdict != "correlated" and (self.near_misses or "near_misses" in given):
            given = {**given, "near_misses": self.near_misses}
        what = (self.verdict.verdict, self.verdict.reason, to_plain(given))
        self.sentence = sentence(*what, of.message.name, of.correlation_key)


class MemorySurroundings(Surroundings):
    def __init__(self, engine: Engine, shard: Shard, space: KeySpace, name: str) -> None:
        facts = {"space": space, "catalog": shard.catalog, "deployed": engine.catalog, "now": engine.now, "ids": None}
        super().__init__(cast(Any, SimpleNamespace(**facts)), name)
        self._engine = engine

    @cached_property
    def other_tenants(self) -> tuple[KeySpace, ...]:
        """An engine in a test has one tenant."""
        return ()

    def bearing(self, message: Message, kept: bool) -> list[NearMiss]:
        space = self.view.space
        sought = Sought(self.waiting, message.business_id, kept, ())
        if not space.key:
            return []
        definitions, what = self._engine.definitions, (self.name, space.key)
        found = [
            misses_of(it, awaiting(definitions, self.tenant_id, (*what, it.business_id, self.view.now)), sought)
            for it in self._bearers(sought)
        ]
        return [miss for misses in found for miss in misses]

    def _bearers(self, sought: Sought) -> Iterator[KeyBearer]:
        """Of the processes that may wait for the name; one that stands still only if it has the key somewhere."""
        processes = sought.processes(self._engine.definitions, self.tenant_id)
        for shard in self._engine.shards:
            for it in list(shard.state.elements.values()):
                if isinstance(it, Instance) and it.definition.process_id in processes:
                    has_key = self.view.space.key in map(str, _values(it)) or it.business_id == self.view.space.key
                    standing = list(_standing(it, it.variables or {}, shard, has_key))
                    yield KeyBearer(it.definition.process_id, it.key, it.definition, it.business_id, standing)

    @cached_property
    def other_keys(self) -> list[NearMiss]:
        space, found = self.view.space, []
        spaces = [shard.spaces for shard in self._engine.shards if isinstance(shard.spaces, KeySpaces)]
        keys = [key for some in spaces for (_, key), _ in some.subscriptions()]
        for some in spaces:
            for (tenant_id, key), its in some.subscriptions():
                if tenant_id == space.tenant_id and folded(its.name) == folded(self.name):
                    found.append(Awaited(its.name, key, its.process_id, its.instance_id, its.element_id))
        near = nearest(space.key, found, lambda _: keys) if space.key else []
        return [other_key(self.name, space.key, it, differs) for differs, it in near]

    def version_of(self, instance: Any) -> int | None:
        found = (shard.state.instance(instance) for shard in self._engine.shards)
        return next((it.definition.version for it in found if it is not None), None)

    def with_holders(self, misses: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return list(misses)


def _values(it: Instance) -> Iterator[Any]:
    """Of its variables, and of what is inside them."""
    waiting: list[Any] = [it.variables]
    while waiting:
        value = waiting.pop()
        if isinstance(value, Mapping):
            waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
        else:
            yield value


def _standing(
    it: ElementInstance, variables: Mapping[str, Any], shard: Shard, has_key: bool
) -> Iterator[StandingElement]:
    incident = shard.state.incidents.get(it.incident_key) if has_key else None
    told = (incident.key, incident.error_type, incident.text) if incident else None
    inside = list(it.children()) if isinstance(it, Scope) else []
    yield StandingElement(it.element.id, variables, told, bool(inside))
    for child in inside:
        own = child.variables if isinstance(child, Scope) else None
        yield from _standing(child, {**variables, **own} if own else variables, shard, has_key)

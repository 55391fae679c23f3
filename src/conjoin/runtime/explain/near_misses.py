"""Everything that came near to taking a message: on its own key by the kernel, beyond it through the store.

The likeliest first, three at most (`kernel/verdicts/ranking.py`). Where the reason explains everything, nothing is
looked for. Only explanations look for them; no rule does. Each is a mapping with a `kind`, as those of the kernel.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation.messages import is_kept
from conjoin.kernel.correlation.starting import starts_behind_id
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.verdicts import ranking
from conjoin.kernel.verdicts.near_misses import MOST, NearMiss, near_misses
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS, Verdict
from conjoin.runtime.codec.key_spaces import read_spaces
from conjoin.runtime.explain import notes, similar
from conjoin.runtime.explain.awaited_keys import AwaitedKeys
from conjoin.runtime.explain.bearers import Bearers, Sought
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.similar import Listener
from conjoin.runtime.visibility.scope import EVERYTHING, VisibleScope, seen_misses
from conjoin.store import tables as t
from conjoin.store.port import KeyRows, Store

_ON_ITS_KEY = frozenset({"locked", "was_locked", "busy", "never_offered", "fewer_than_expected"})
_CERTAIN = frozenset(
    {"expired_before", "too_early", "closed_before", "incident", "other_business_id", "constraint", "other_tenant"}
)
"""Whoever is near in one of these ways waited, waits or will wait for exactly this: no other key is looked for."""


class KeySurroundings:
    """What lies around a key, for one message name. It is looked up when it is first needed, and once."""

    def __init__(self, store: Store, view: KeyView, name: str, scope: VisibleScope = EVERYTHING) -> None:
        """`scope`: what the caller may see."""
        self.view = view
        self.scope = scope
        self.store = store
        self.name = self._name = name
        self._tenant_id = view.space.tenant_id
        versions = view.deployed.definitions.versions
        self._tenants = tuple({tenant: None for tenant, _ in versions if tenant != self._tenant_id})
        """Others with something deployed."""

    @cached_property
    def other_tenants(self) -> tuple[KeySpace, ...]:
        """The same key in other tenants, with what waits there for the name."""
        if not self._tenants:
            return ()
        key, policy_of = self.view.space.key, self.view.deployed.policy_of
        where = {"tenant_id": self._tenants, "correlation_key": key, "name": self._name, "closed_at": None}
        rows = self.store.rows(t.SUBSCRIPTION, where, None, MOST)
        return tuple(
            read_spaces(tenant, [key], KeyRows(list(some), (), ()), policy_of)[key].space
            for tenant, some in groupby(rows, attrgetter("tenant_id"))
        )

    @cached_property
    def listeners(self) -> list[Listener]:
        """Every element of a deployed model of the tenant that waits for messages."""
        return list(similar.listeners(self.view.deployed.definitions, self._tenant_id))

    @cached_property
    def waiting(self) -> list[Listener]:
        """Those that wait for the name, or may: it may be computed."""
        return [listener for listener in self.listeners if listener.may_wait_for(self._name)]

    @cached_property
    def names(self) -> list[str]:
        return list({listener.name: None for listener in self.listeners if listener.name is not None})

    @cached_property
    def elsewhere(self) -> list[NearMiss]:
        """What depends on the name alone."""
        return [*self._started_elsewhere(), *self._never_awaited()]

    def bearing(self, message: Message) -> list[NearMiss]:
        """Instances that will wait for it, or would if they did not stand still."""
        sought = Sought(self.waiting, message.business_id, is_kept(message) and message.ended is None, self.sample)
        return self._bearers.misses(sought)

    @cached_property
    def _bearers(self) -> Bearers:
        return Bearers(self.store, self.view, self._name)

    @cached_property
    def _awaited(self) -> AwaitedKeys:
        return AwaitedKeys(self.store, self._tenant_id, self._name)

    @property
    def sample(self) -> Any:
        return self._awaited.sample() if self.waiting else ()

    def versions_that_wait(self, miss: Mapping[str, Any]) -> dict[str, int]:
        """Where an instance runs on a version that does not know the name, and another version does: both versions."""
        knowing = {it.definition.version for it in self.waiting if it.definition.process_id == miss.get("process")}
        version = self._version_of(miss["instance"]) if knowing else None
        return {} if version is None or version in knowing else {"version": version, "other_version": max(knowing)}

    def _version_of(self, instance: Any) -> int | None:
        return next((row.version for row in self.store.rows(t.INSTANCE, {"key": instance}, None, 1)), None)

    def nobody(self) -> notes.Nobody:
        def sees(process_id: str) -> bool:
            return self.scope.sees(self._tenant_id, self._name, process_id)

        last = self._awaited.last_similar
        seen = last if last is not None and sees(last["process"]) else None
        which = (notes.awaited_by(self.waiting, sees), notes.computed_by(self.waiting, sees))
        return notes.Nobody(*which, seen, self._bearers.looked_at)

    def with_holders(self, misses: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return notes.with_holders(self.store, self.view, misses)

    @cached_property
    def other_keys(self) -> list[NearMiss]:
        return self._awaited.near(self.view.space.key) if self.waiting and self.view.space.key else []

    def _started_elsewhere(self) -> Iterator[NearMiss]:
        for tenant in self._tenants:
            for listener in similar.listeners(self.view.deployed.definitions, tenant):
                if listener.name == self._name and listener.element in listener.definition.plan.starts:
                    who = {"process": listener.definition.process_id, "element": listener.element.id}
                    yield {"kind": "other_tenant", "tenant": tenant, **who}

    def _never_awaited(self) -> Iterator[NearMiss]:
        known, names = self.listeners, self.names
        if self._name in names:
            return
        miss: NearMiss = {"kind": "never_awaited"}
        if self._tenants:
            miss["tenant"] = self._tenant_id
        if nearest := similar.nearest_name(self._name, names):
            miss["similar"] = nearest
        if computing := {listener.definition.process_id: None for listener in known if listener.name is None}:
            miss["computed"] = list(computing)
        yield miss


def all_misses(
    around: KeySurroundings, message: Message, verdict: Verdict, known: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """`known` are those that came with the verdict, when it was decided."""
    found = [miss for miss in map(_of_names(around), known) if miss is not None]
    for miss in _looked_up(around, message, verdict, found):
        if miss not in found:
            found.append(miss)
    seen = ranking.told(seen_misses(around.scope, around.view.space.tenant_id, message.name, found))
    return around.with_holders(seen)


def _of_names(around: KeySurroundings) -> Callable[[Mapping[str, Any]], Mapping[str, Any] | None]:
    """A look at the models tells whether another name may be meant: not where somebody else waits for this one."""

    def judged(miss: Mapping[str, Any]) -> Mapping[str, Any] | None:
        if miss["kind"] != "other_name" or miss.get("differs") != ranking.QUITE_ANOTHER:
            return miss
        if similar.is_misspelled(around.name, miss["name"]):
            return {**miss, "differs": ranking.MISSPELLED}
        if not around.waiting:
            return miss
        versions = around.versions_that_wait(miss)
        return {**miss, "differs": ranking.VERSION, **versions} if versions else None

    return judged


def _looked_up(
    around: KeySurroundings, message: Message, verdict: Verdict, known: Sequence[Mapping[str, Any]]
) -> Iterator[Mapping[str, Any]]:
    if verdict.verdict == "correlated":
        yield from (miss for miss in _on_its_key(around, message) if miss["kind"] == "taken_by_process")
    elif verdict.reason in FOR_WANT_OF_RECEIVERS:
        on_key = [*known, *_too_late(message)]
        on_key += [miss for miss in map(_of_names(around), _on_its_key(around, message)) if miss is not None]
        on_key += around.elsewhere
        if not any(miss["kind"] == "expired_before" for miss in on_key):
            on_key += around.bearing(message)
        yield from on_key
        if not any(miss["kind"] in _CERTAIN for miss in on_key):
            yield from around.other_keys
    elif verdict.reason in _ON_ITS_KEY:
        yield from _on_its_key(around, message)


def _on_its_key(around: KeySurroundings, message: Message) -> Iterator[NearMiss]:
    view, tenant_id = around.view, around.view.space.tenant_id
    starts = view.catalog.starts_for(tenant_id, message.name, view.now)
    for start in starts_behind_id(view.space, message, starts, view.catalog):
        holder = view.ids.holder(tenant_id, start.process_id, message.business_id) if view.ids is not None else None
        yield {"kind": "business_id_held", "process": start.process_id, "instance": holder}
    yield from near_misses(view.space, message, view.now, starts, around.other_tenants)


def who_came_late(view: KeyView, message: Message) -> Subscription | None:
    """The first subscription known that began to wait for its name after it was gone: open, or the last one closed."""
    topic = view.space.topics.get(message.name)
    if topic is None or message.ended is None:
        return None
    last = (topic.last_closed.subscription,) if topic.last_closed else ()
    # What is not kept is gone at the instant itself, and was offered to those that waited then.
    since = _gone_at(message) + (_gone_at(message) == message.published_at)
    late = [it for it in (*topic.open_subscriptions(), *last) if it.opened_at >= since]
    return min(late, key=lambda it: it.opened_at, default=None)


def _gone_at(message: Message) -> int:
    return message.published_at if message.sync else message.deadline


def _too_late(message: Message) -> Iterator[NearMiss]:
    """Only where a longer time to live would have helped."""
    late = message.late_subscription
    if late is not None and (message.policy.keeps or message.sync):
        who = {"process": late.process_id, "instance": late.instance_id, "element": late.element_id}
        yield {"kind": "expired_before", "late_ms": elapsed_ms(_gone_at(message), late.opened_at), **who}

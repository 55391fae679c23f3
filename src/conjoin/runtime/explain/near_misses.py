"""Everything that came near to taking a message: on its own key by the kernel, beyond it through the store.

The closest first, ten at most. Where the reason explains everything, nothing is looked for. Only explanations look for
them; no rule does. Each is a small mapping with a `kind`, as those of the kernel.
"""

from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from itertools import groupby
from operator import attrgetter
from typing import Any

from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation.starting import starts_behind_id
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.process.step import EXTRACT_VALUE_ERROR
from conjoin.kernel.verdicts.near_misses import MOST, NearMiss, closeness, near_misses
from conjoin.kernel.verdicts.similar_keys import OTHERWISE, Awaited, difference, other_key, variants
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS, Verdict
from conjoin.runtime.codec.key_spaces import read_spaces
from conjoin.runtime.explain import similar
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.similar import Listener
from conjoin.runtime.visibility.scope import EVERYTHING, VisibleScope, seen_misses
from conjoin.store import tables as t
from conjoin.store.port import KeyRows, Store
from conjoin.store.rows import IncidentRow

_ON_ITS_KEY = frozenset({"locked", "was_locked", "busy", "never_offered", "fewer_than_expected"})

_LOOKED_AT = 200
"""So many of those that wait for the same name are compared."""
_COMPARED = 64
"""Characters of a key that are compared: keys may be very long."""


class KeySurroundings:
    """What lies around a key, for one message name. It is looked up when it is first needed, and once."""

    def __init__(self, store: Store, view: KeyView, name: str, scope: VisibleScope = EVERYTHING) -> None:
        """`scope`: what the caller may see."""
        self.view = view
        self.scope = scope
        self._store = store
        self._name = name
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
        rows = self._store.rows(t.SUBSCRIPTION, where, None, MOST)
        return tuple(
            read_spaces(tenant, [key], KeyRows(list(some), (), ()), policy_of)[key].space
            for tenant, some in groupby(rows, attrgetter("tenant_id"))
        )

    @cached_property
    def beyond_key(self) -> list[NearMiss]:
        known = list(similar.listeners(self.view.deployed.definitions, self._tenant_id))
        waiting = [listener for listener in known if listener.may_wait_for(self._name)]
        found = [*self._started_elsewhere(), *self._never_awaited(known)]
        return [*found, *self._incidents(waiting), *self._other_keys()] if waiting else found

    def _started_elsewhere(self) -> Iterator[NearMiss]:
        for tenant in self._tenants:
            for listener in similar.listeners(self.view.deployed.definitions, tenant):
                if listener.name == self._name and listener.element in listener.definition.plan.starts:
                    who = {"process": listener.definition.process_id, "element": listener.element.id}
                    yield {"kind": "other_tenant", "tenant": tenant, **who}

    def _never_awaited(self, known: Sequence[Listener]) -> Iterator[NearMiss]:
        names = {listener.name: None for listener in known if listener.name is not None}
        if self._name in names:
            return
        miss: NearMiss = {"kind": "never_awaited"}
        if self._tenants:
            miss["tenant"] = self._tenant_id
        if nearest := similar.nearest_name(self._name, list(names)):
            miss["similar"] = nearest
        if computing := {listener.definition.process_id: None for listener in known if listener.name is None}:
            miss["computed"] = list(computing)
        yield miss

    def _other_keys(self) -> Iterator[NearMiss]:
        """Those that were meant, in all likelihood; then the most similar of those that wait for the name."""
        key, where = self.view.space.key, {"tenant_id": self._tenant_id, "name": self._name, "closed_at": None}
        meant = self._store.rows(t.SUBSCRIPTION, {**where, "correlation_key": variants(key)}, None, MOST)
        others = self._store.rows(t.SUBSCRIPTION, where, None, _LOOKED_AT)
        found = {row.key: row for row in (*meant, *others) if row.correlation_key != key}
        for row in sorted(found.values(), key=lambda row: _distance(key, row.correlation_key))[:MOST]:
            who = row.process_id, row.instance_key, row.element_id
            yield other_key(self._name, key, Awaited(self._name, row.correlation_key, *who))

    def _incidents(self, waiting: Sequence[Listener]) -> Iterator[NearMiss]:
        """An element that would wait for the name, but its name or key could not be evaluated."""
        by_element = {
            (listener.definition.key, element_id): listener
            for listener in waiting
            for element_id in similar.elements_with_incidents(listener)
        }
        where = {"error_type": EXTRACT_VALUE_ERROR, "element_id": tuple({element_id for _, element_id in by_element})}
        rows: Sequence[IncidentRow] = list(self._store.rows(t.INCIDENT, where, None, _LOOKED_AT))
        keys = tuple({row.instance_key for row in rows})
        of_keys = {"key": keys, "tenant_id": self._tenant_id}
        instances = self._store.rows(t.INSTANCE, of_keys, None, len(keys)) if keys else ()
        definitions = {row.key: row.definition_key for row in instances}
        for row in rows:
            listener = by_element.get((definitions.get(row.instance_key, 0), row.element_id))
            if listener is not None:
                process_id = listener.definition.process_id
                who = {"process": process_id, "instance": row.instance_key, "element": row.element_id}
                yield {"kind": "incident", "incident": row.key, **who, "text": row.text}


def _distance(key: str, other: str) -> tuple[bool, float]:
    alike = SequenceMatcher(None, key[:_COMPARED], other[:_COMPARED]).ratio()
    return (difference(key, other) == OTHERWISE, -alike)


def all_misses(
    around: KeySurroundings, message: Message, verdict: Verdict, known: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """`known` are those that came with the verdict, when it was decided."""
    found = list(known)
    for miss in _looked_up(around, message, verdict):
        if miss not in found:
            found.append(miss)
    seen = seen_misses(around.scope, around.view.space.tenant_id, message.name, found)
    return sorted(seen, key=closeness)[:MOST]


def _looked_up(around: KeySurroundings, message: Message, verdict: Verdict) -> Iterator[NearMiss]:
    if verdict.verdict == "correlated":
        yield from (miss for miss in _on_its_key(around, message) if miss["kind"] == "taken_by_process")
    elif verdict.reason in FOR_WANT_OF_RECEIVERS:
        yield from _too_late(message)
        yield from _on_its_key(around, message)
        yield from around.beyond_key
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

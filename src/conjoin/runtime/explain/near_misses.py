"""Everything that came near to taking a message: on its own key by the kernel, beyond it through the store.

The closest first, ten at most. Where the reason says it all, nothing is looked for.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation.starting import starts_behind_id
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.verdicts.near_misses import MOST, NearMiss, near_misses
from conjoin.kernel.verdicts.verdicts import Verdict
from conjoin.runtime.explain.beyond_key import beyond_key, other_tenants
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.visibility.scope import EVERYTHING, VisibleScope, seen_misses
from conjoin.store.port import Store

_FOR_WANT_OF_RECEIVERS = frozenset({"nobody_waits", "nobody_waited", "ttl_zero", "policy", "not_found"})
_ON_ITS_KEY = frozenset({"locked", "was_locked", "busy", "never_offered", "fewer_than_expected"})

_CLOSEST_FIRST = (
    *("lock_held", "business_id_held", "busy", "taken_by_process", "other_business_id", "constraint"),
    *("expired_before", "closed_before", "almost the same", "other_tenant", "incident", "never_awaited"),
    *("other_name", "other_key"),
)
_QUITE_ANOTHER = ("name", "key")


class KeySurroundings:
    """What lies around a key, for one message name. It is looked up when it is first needed, and once."""

    def __init__(self, store: Store, view: KeyView, name: str, scope: VisibleScope = EVERYTHING) -> None:
        """`scope`: what whoever asks may be told of."""
        self.view = view
        self.scope = scope
        self._store = store
        self._name = name

    @cached_property
    def other_tenants(self) -> tuple[KeySpace, ...]:
        return other_tenants(self._store, self.view.deployed, self.view.space, self._name)

    @cached_property
    def beyond_key(self) -> list[NearMiss]:
        return list(beyond_key(self._store, self.view.deployed, self.view.space, self._name))


def all_misses(
    around: KeySurroundings, message: Message, verdict: Verdict, known: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """`known` are those that came with the verdict, when it was decided."""
    found = list(known)
    for miss in _looked_up(around, message, verdict):
        if miss not in found:
            found.append(miss)
    seen = seen_misses(around.scope, around.view.space.tenant_id, message.name, found)
    return sorted(seen, key=_closeness)[:MOST]


def _looked_up(around: KeySurroundings, message: Message, verdict: Verdict) -> Iterator[NearMiss]:
    if verdict.verdict == "correlated":
        yield from (miss for miss in _on_its_key(around, message) if miss["kind"] == "taken_by_process")
    elif verdict.reason in _FOR_WANT_OF_RECEIVERS:
        yield from _too_late(message)
        yield from _on_its_key(around, message)
        yield from around.beyond_key
    elif verdict.reason in _ON_ITS_KEY:
        yield from _on_its_key(around, message)


def _on_its_key(around: KeySurroundings, message: Message) -> tuple[NearMiss, ...]:
    view = around.view
    starts = view.catalog.starts_for(view.space.tenant_id, message.name, view.now)
    on_key = near_misses(view.space, message, view.now, starts, around.other_tenants)
    return (*_behind_its_id(view, message, starts), *on_key)


def _behind_its_id(view: KeyView, message: Message, starts: Sequence[StartSubscription]) -> Iterator[NearMiss]:
    tenant_id = view.space.tenant_id
    for start in starts_behind_id(view.space, message, starts, view.catalog):
        holder = view.ids.holder(tenant_id, start.process_id, message.business_id) if view.ids is not None else None
        yield {"kind": "business_id_held", "process": start.process_id, "instance": holder}


def _closeness(miss: Mapping[str, Any]) -> int:
    almost = "differs" in miss and miss["differs"] not in _QUITE_ANOTHER
    return _CLOSEST_FIRST.index("almost the same" if almost else miss["kind"])


def who_came_late(view: KeyView, message: Message) -> Subscription | None:
    """Who began to wait for its name after it was gone: the first that is known, open or the last one closed."""
    topic = view.space.topics.get(message.name)
    if topic is None or message.ended is None:
        return None
    last = (topic.last_closed.subscription,) if topic.last_closed else ()
    # What is not kept is gone at the instant itself, and who waited then was asked.
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

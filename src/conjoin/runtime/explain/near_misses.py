"""Everything that came near to taking a message: on its own key by the kernel, beyond it through the store.

The likeliest first, three at most (`kernel/verdicts/ranking.py`). Where the reason explains everything, nothing is
looked for. Only explanations look for them; no rule does. Each is a mapping with a `kind`, as those of the kernel.
"""

from collections.abc import Iterable, Iterator, Sequence

from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.correlation.messages import is_kept
from conjoin.kernel.correlation.starting import starts_behind_id
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.verdicts import ranking
from conjoin.kernel.verdicts.near_misses import NearMiss, near_misses
from conjoin.kernel.verdicts.ranking import Miss
from conjoin.kernel.verdicts.verdicts import FOR_WANT_OF_RECEIVERS, Verdict
from conjoin.runtime.explain.key_view import KeyView
from conjoin.runtime.explain.surroundings import Surroundings
from conjoin.runtime.visibility.scope import seen_misses

_ON_ITS_KEY = frozenset({"locked", "was_locked", "busy", "never_offered", "fewer_than_expected"})
_CERTAIN = frozenset(
    {"expired_before", "too_early", "closed_before", "incident", "other_business_id", "constraint", "other_tenant"}
)
"""Whoever is near in one of these ways waited, waits or will wait for exactly this: no other key is looked for."""


def all_misses(around: Surroundings, message: Message, verdict: Verdict, known: Sequence[Miss]) -> list[Miss]:
    """`known` are those that came with the verdict, when it was decided."""
    found = _judged(around, known)
    for miss in _looked_up(around, message, verdict, list(found)):
        if miss not in found:
            found.append(miss)
    return around.with_holders(ranking.told(_seen(around, found)))


def _judged(around: Surroundings, misses: Iterable[Miss]) -> list[Miss]:
    return _seen(around, [it for it in map(around.judged_name, misses) if it is not None])


def _seen(around: Surroundings, misses: Sequence[Miss]) -> list[Miss]:
    """Who may not be seen keeps nobody else from being looked for."""
    return list(seen_misses(around.scope, around.tenant_id, around.name, misses))


def _looked_up(around: Surroundings, message: Message, verdict: Verdict, known: Sequence[Miss]) -> Iterator[Miss]:
    if verdict.verdict == "correlated":
        yield from (miss for miss in _on_its_key(around, message) if miss["kind"] == "taken_by_process")
    elif verdict.reason in FOR_WANT_OF_RECEIVERS:
        near = [*known, *_judged(around, [*_too_late(message), *_on_its_key(around, message), *around.elsewhere])]
        if not any(miss["kind"] == "expired_before" for miss in near):
            near += _seen(around, around.bearing(message, is_kept(message) and message.ended is None))
        yield from near
        if not any(miss["kind"] in _CERTAIN for miss in near):
            yield from around.other_keys
    elif verdict.reason in _ON_ITS_KEY:
        yield from _on_its_key(around, message)


def _on_its_key(around: Surroundings, message: Message) -> Iterator[NearMiss]:
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

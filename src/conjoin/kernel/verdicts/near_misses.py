"""Near misses: what almost took a message, and what would mend it.

They explain; they never decide. Only what lies on the same correlation key is looked at here, at most ten of them; what
lies on a key that is nearly the same is in `similar_keys`.
Each is a small mapping with a `kind` from a closed list.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation.marks import is_taken_for
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.starting import locked_starts
from conjoin.kernel.correlation.state import KeySpace, Topic
from conjoin.kernel.instants import elapsed_ms
from conjoin.kernel.verdicts.similar_keys import CASE_OR_BLANKS, folded

NearMiss = dict[str, Any]

MOST = 10
MOST_LANES = 50
"""Where more names are awaited than this, counted by process, those of other names are not told: none is near."""


def near_misses(
    space: KeySpace,
    message: Message,
    at: int,
    starts: Sequence[StartSubscription] = (),
    other_tenants: Sequence[KeySpace] = (),
) -> tuple[NearMiss, ...]:
    """The closest first: a lock, the same name, then other names, then other tenants."""
    if not space.topics and not other_tenants and not starts:
        return ()
    return tuple(islice(_all(space, message, at, starts, other_tenants), MOST))


def _all(
    space: KeySpace, message: Message, at: int, starts: Sequence[StartSubscription], other_tenants: Sequence[KeySpace]
) -> Iterator[NearMiss]:
    for start in locked_starts(space, message, starts):
        holder = space.locks[start.process_id].instance_id
        yield {"kind": "lock_held", "process": start.process_id, "instance": holder}
    topic = space.topics.get(message.name)
    if topic is not None:
        yield from _on_the_same_name(topic, message, at)
    yield from _on_other_names(space, message.name)
    for tenant in other_tenants:
        theirs = tenant.topics.get(message.name)
        if tenant is not space and theirs is not None and theirs.lanes:
            yield {"kind": "other_tenant", "tenant": tenant.tenant_id, **_who(theirs.first_open())}


def _on_the_same_name(topic: Topic, message: Message, at: int) -> Iterator[NearMiss]:
    for subscription in islice(topic.open_by_rank(), MOST):
        if is_taken_for(message, subscription):
            yield from _taken_for(message, subscription)
        elif subscription.busy_with is not None:
            yield {"kind": "busy", "subscription": subscription.key, **_who(subscription)}
        elif message.business_id and message.business_id != subscription.business_id:
            yield {"kind": "other_business_id", "business_id": subscription.business_id, **_who(subscription)}
        elif message.policy.constraint is not None:
            yield {"kind": "constraint", **_who(subscription)}
    end = topic.last_closed
    if end is not None and end.at <= message.published_at and not _has_it(message, end.subscription):
        closed_ms = elapsed_ms(end.at, message.published_at)
        yield {"kind": "closed_before", "closed_ms_before": closed_ms, **_who(end.subscription)}


def _taken_for(message: Message, subscription: Subscription) -> Iterator[NearMiss]:
    """It waits in vain: what it stands for has the message already, through another."""
    targets = message.targets
    if not targets or _has_it(message, subscription):
        return
    first = next((target for target in targets if target.process_id == subscription.process_id), targets[0])
    taken = {"process": first.process_id, "instance": first.instance_id, "taken_at": first.at}
    yield {"kind": "taken_by_process", **taken, "waiting_instance": subscription.instance_id}


def _has_it(message: Message, subscription: Subscription) -> bool:
    return any(target.waiter is subscription for target in message.targets)


def _on_other_names(space: KeySpace, wanted: str) -> Iterator[NearMiss]:
    """The first who waits for each; by rank, so that it does not depend on what was there before."""
    awaited = space.awaited
    if len(awaited) > MOST_LANES or sum(len(topic.lanes) for topic in awaited.values()) > MOST_LANES:
        return
    others = [topic for name, topic in awaited.items() if name != wanted]
    for subscription in sorted((topic.first_open() for topic in others), key=lambda s: s.rank):
        name = subscription.name
        yield {"kind": "other_name", "name": name, "differs": _differs(wanted, name), **_who(subscription)}


@lru_cache(1_000)
def _differs(wanted: str, name: str) -> str:
    """Names are few, and the same ones meet again and again."""
    return CASE_OR_BLANKS if folded(wanted) == folded(name) else "name"


def _who(subscription: Subscription) -> NearMiss:
    return {
        "process": subscription.process_id,
        "instance": subscription.instance_id,
        "element": subscription.element_id,
    }

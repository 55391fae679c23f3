"""Near misses: what almost took a message, and what would mend it.

They explain; they never decide. Only what lies on the same correlation key is looked at here, at most ten of them.
Each is a small mapping with a `kind` from a closed list.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from conjoin.kernel.catalog import StartSubscription
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.starting import locked_starts
from conjoin.kernel.correlation.state import KeySpace, Topic
from conjoin.kernel.instants import elapsed_ms

NearMiss = dict[str, Any]

MOST = 10
_MOST_TOPICS = 50


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
    space: KeySpace,
    message: Message,
    at: int,
    starts: Sequence[StartSubscription],
    other_tenants: Sequence[KeySpace],
) -> Iterator[NearMiss]:
    for start in locked_starts(space, message, starts):
        holder = space.locks[start.process_id].instance_id
        yield {"kind": "lock_held", "process": start.process_id, "instance": holder}
    topic = space.topics.get(message.name)
    if topic is not None:
        yield from _on_the_same_name(topic, message, at)
    for name, other in islice(space.topics.items(), _MOST_TOPICS):
        if name != message.name:
            yield from _on_another_name(message.name, name, other)
    for tenant in other_tenants:
        theirs = tenant.topics.get(message.name)
        if tenant is not space and theirs is not None:
            for subscription in islice(theirs.open_subscriptions(), 1):
                yield {"kind": "other_tenant", "tenant": tenant.tenant_id, **_who(subscription)}


def _on_the_same_name(topic: Topic, message: Message, at: int) -> Iterator[NearMiss]:
    for subscription in islice(topic.open_subscriptions(), MOST):
        if subscription.busy_with is not None:
            yield {"kind": "busy", "subscription": subscription.key, **_who(subscription)}
        elif message.business_id and message.business_id != subscription.business_id:
            yield {"kind": "other_business_id", "business_id": subscription.business_id, **_who(subscription)}
        elif message.policy.constraint is not None:
            yield {"kind": "constraint", **_who(subscription)}
    end = topic.last_closed
    if end is not None and end.at <= message.published_at:
        closed_ms = elapsed_ms(end.at, message.published_at)
        yield {"kind": "closed_before", "closed_ms_before": closed_ms, **_who(end.subscription)}


def _on_another_name(wanted: str, name: str, topic: Topic) -> Iterator[NearMiss]:
    for subscription in islice(topic.open_subscriptions(), 1):
        differs = "case or blanks only" if _folded(wanted) == _folded(name) else "name"
        yield {"kind": "other_name", "name": name, "differs": differs, **_who(subscription)}


def _folded(name: str) -> str:
    return "".join(name.split()).casefold()


def _who(subscription: Subscription) -> NearMiss:
    return {
        "process": subscription.process_id,
        "instance": subscription.instance_id,
        "element": subscription.element_id,
    }

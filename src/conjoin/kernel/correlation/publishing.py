"""Publishing: what becomes of a message when it arrives.

Running instances are served before start events (D13). What nobody takes is kept, discarded, refused or, when it
cannot be kept and everybody who waits is busy, held until they have answered.
"""

from collections.abc import Sequence

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.messages import Message, is_kept
from conjoin.kernel.correlation.offers import is_awaited, receivers
from conjoin.kernel.correlation.starting import locked_starts, start_instance, startable
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.correlation.uniqueness import holder_of_id, remembered_until
from conjoin.kernel.policies import DISCARD, EXACTLY_ONE, REJECT
from conjoin.kernel.verdicts.near_misses import near_misses


def publish(space: KeySpace, message: Message, at: int, catalog: Catalog) -> list[e.Event]:
    first = holder_of_id(space, message, at) if message.message_id else None
    if first is None:
        return offer(space, message, at, catalog)
    parameters = {
        "first_message": first.key,
        "first_published_at": first.published_at,
        "until_at": remembered_until(first),
        "acknowledged": message.policy.on_duplicate == "acknowledge",
    }
    return [e.MessageRefused(message, at, "duplicate_id", parameters)]


def offer(space: KeySpace, message: Message, at: int, catalog: Catalog) -> list[e.Event]:
    """Give it to everybody who may have it, subscriptions by rank and then start events by age."""
    topic = space.topics.get(message.name)
    starts = () if message.subscriptions_only else catalog.starts_for(space.tenant_id, message.name, at)
    waiting = receivers(topic, message, starts) if topic is not None and topic.lanes else []
    starting = startable(space, message, starts, waiting, catalog) if starts else []
    if not waiting and not starting:
        return _nobody(space, message, at, starts)
    if message.policy.cardinality == EXACTLY_ONE and len(waiting) + len(starting) > 1:
        candidates = [s.instance_id for s in waiting] + [s.process_id for s in starting]
        parameters = {"candidates": candidates[:10], "count": len(candidates)}
        return [e.MessageRefused(message, at, "ambiguous", parameters)]
    events: list[e.Event] = [e.MessagePublished(message, at)]
    for subscription in waiting:
        events.append(e.MessageCorrelated(message, subscription, at, "waiting_instance"))
    if starting:
        started = [start_instance(space, message, start, at, catalog) for start in starting]
        events += started
        if message.sync:
            # A newly started instance answers a synchronous correlation, the oldest definition first (O3, O4).
            events.append(e.MessageAnswered(message, started[0].instance_id, at))
    return events


def _nobody(space: KeySpace, message: Message, at: int, starts: Sequence[StartSubscription]) -> list[e.Event]:
    if is_kept(message):
        return [e.MessagePublished(message, at)]
    topic = space.topics.get(message.name)
    if topic is not None and is_awaited(topic, message):
        return [e.MessageHeld(message, at)]
    if message.sync or message.policy.on_no_match == REJECT:
        locked = [start.process_id for start in locked_starts(space, message, starts)]
        if locked:
            return [e.MessageRefused(message, at, "locked", {"processes": locked})]
        misses = near_misses(space, message, at, starts)
        return [e.MessageRefused(message, at, "not_found", {"near_misses": misses})]
    reason = "policy" if message.policy.on_no_match == DISCARD else "ttl_zero"
    misses = near_misses(space, message, at, starts)
    return [e.MessagePublished(message, at), e.MessageDiscarded(message, at, reason, misses)]

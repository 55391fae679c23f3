"""Expiry: a message leaves the buffer at its deadline. Nothing else changes by it (F10-F13).

Whether it may still be taken never depends on this sweep: that is decided by the deadline itself (F1).
"""

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation.events import Event, MessageExpired
from conjoin.kernel.correlation.messages import Message
from conjoin.kernel.correlation.starting import locked_starts
from conjoin.kernel.correlation.state import KeySpace
from conjoin.kernel.verdicts.near_misses import near_misses


def expire(space: KeySpace, at: int, limit: int, catalog: Catalog) -> list[Event]:
    return [_expired(space, message, catalog) for message in space.due(at, limit)]


def _expired(space: KeySpace, message: Message, catalog: Catalog) -> MessageExpired:
    if message.marks:
        return MessageExpired(message, message.deadline, "")
    last = message.deadline - 1
    starts = catalog.starts_for(space.tenant_id, message.name, last)
    if locked_starts(space, message, starts):
        reason = "was_locked"
    else:
        # A start event deployed while it waited: deploying offers nothing that is already there (G25, G26).
        known = catalog.starts_for(space.tenant_id, message.name, message.published_at)
        reason = "never_offered" if any(start not in known for start in starts) else "nobody_waited"
    return MessageExpired(message, message.deadline, reason, near_misses(space, message, last, starts))

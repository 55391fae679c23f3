"""A look at a shard: is there anything to do that nobody has asked for? Mostly there is not, and one look says so."""

from typing import NamedTuple

from conjoin.runtime.start_timers import scheduled_up_to
from conjoin.runtime.sweeps import KINDS, Kind
from conjoin.store.port import ShardSnapshot


class Peeked(NamedTuple):
    due: tuple[Kind, ...]
    receivers: tuple[int, ...]
    """Shards for which there is post."""
    scheduled_up_to: int
    """The version of the catalog whose start timers are scheduled."""


def peek(snapshot: ShardSnapshot, at: int) -> Peeked:
    due = tuple(kind for kind in KINDS if _is_due(snapshot, kind, at))
    return Peeked(due, tuple(snapshot.receivers()), scheduled_up_to(snapshot))


def _is_due(snapshot: ShardSnapshot, kind: Kind, at: int) -> bool:
    look = {"timers": snapshot.due_timers, "jobs": snapshot.due_jobs, "messages": snapshot.due_messages}[kind]
    return bool(look(at, 1))

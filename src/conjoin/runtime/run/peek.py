"""A look at a shard: is there anything to do that nobody has asked for? Mostly there is not, and one look says so."""

from typing import NamedTuple

from conjoin.runtime.run.due import KINDS, Kind
from conjoin.runtime.run.start_timers import scheduled_up_to
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot

_AT_ONCE = 100
_TABLES = {"timers": t.TIMER, "jobs": t.JOB, "messages": t.MESSAGE}


class Peeked(NamedTuple):
    due: tuple[Kind, ...]
    receivers: tuple[int, ...]
    """Shards for which there is post."""
    scheduled_up_to: int
    """The version of the catalog whose start timers are scheduled."""
    to_retry: tuple[int, ...] = ()
    """What is set aside and to be tried again by itself."""
    set_aside: int = 0
    """How much is set aside."""


def peek(snapshot: ShardSnapshot, at: int) -> Peeked:
    tables = snapshot.due_tables(at)
    due = tuple(kind for kind in KINDS if _TABLES[kind] in tables)
    set_aside = snapshot.set_aside_count()
    # A retry of what is gone, with its instance perhaps, clears it.
    keys = (*snapshot.set_aside_due(at, _AT_ONCE), *snapshot.set_aside_gone(_AT_ONCE)) if set_aside else ()
    return Peeked(due, tuple(snapshot.receivers()), scheduled_up_to(snapshot), tuple(dict.fromkeys(keys)), set_aside)

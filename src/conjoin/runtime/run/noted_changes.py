"""What each request of a run has changed, and its entry of the log, made as soon as the request is over.

A batch is larger than the processor's caches: while a request is at hand this costs half of what it does when all of
them are over, and most of what was decided is not needed any more from then on. Nothing is written here.
"""

from typing import Any

from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.runtime.engine.shard import Decided
from conjoin.runtime.run.changes import InstanceChanges, KeyChanges
from conjoin.runtime.run.log import Written, entry_text, write_events
from conjoin.runtime.run.working_set.working_set import WorkingSet


class NotedChanges:
    def __init__(self, its: WorkingSet, now: int, catalog_version: int) -> None:
        self.keys = KeyChanges(its, now, catalog_version)
        self.instances = InstanceChanges(its)
        self.entries: list[bytes] = []
        """Of the log, one for each request that was carried out."""
        self._now = now

    def note(self, request: list[Any], next_key: int, journal: list[tuple[Order, Decided]]) -> None:
        """`journal` has the orders of the request, each with what was decided; `next_key` is where the keys stood."""
        events: list[Written] = []
        for order, decided in journal:
            write_events(decided, events)
            if isinstance(order, c.ForKey):
                self.keys.note(order, decided)
            else:
                self.instances.note(order, decided)
        self.entries.append(entry_text(request, self._now, next_key, events))

"""Business ids that may be held by one running instance of a process at a time (Q8-Q15), if that is switched on.

Who holds an id and who waits for it, over all shards of an engine in memory. It listens to the events, answers the
kernel whether an id is free, and says what to start when one has become free.
"""

from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.marks import is_taken_by_process
from conjoin.kernel.keys import rank_of
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe

if TYPE_CHECKING:
    from conjoin.runtime.shard import Shard

_Id = tuple[str, str, str]
"""Tenant, process id, business id."""


class BusinessIds:
    def __init__(self) -> None:
        self._holders: dict[_Id, int] = {}
        self._ids: dict[int, _Id] = {}
        self._waiting: dict[_Id, list[tuple[int, str, Message]]] = {}

    def holder(self, tenant_id: str, process_id: str, business_id: str) -> int | None:
        return self._holders.get((tenant_id, process_id, business_id))

    def is_free(self, tenant_id: str, process_id: str, message: Message) -> bool:
        """Nobody holds it, and nobody older waits for it (Q12)."""
        place = (tenant_id, process_id, message.business_id)
        if place in self._holders:
            return False
        oldest = self._oldest(place)
        return oldest is None or oldest[0] >= rank_of(message.key)

    def _oldest(self, place: _Id) -> tuple[int, str, Message] | None:
        """The first message in the queue that is still there and has not started the process."""
        queue = self._waiting.get(place)
        while queue:
            message = queue[0][2]
            if message.stored and not is_taken_by_process(message, place[1]):
                return queue[0]
            heappop(queue)
        self._waiting.pop(place, None)
        return None

    def published(self, tenant_id: str, key: str, message: Message, process_ids: list[str]) -> None:
        """A stored message that may have to wait for its id."""
        for process_id in process_ids:
            place = (tenant_id, process_id, message.business_id)
            heappush(self._waiting.setdefault(place, []), (rank_of(message.key), key, message))

    def started(self, tenant_id: str, event: e.InstanceStarted) -> None:
        self._hold((tenant_id, event.process_id, event.message.business_id), event.instance_id)

    def created(self, process_id: str, event: pe.InstanceCreated) -> None:
        """A called instance holds nothing: its caller does."""
        if not event.parent_key:
            self._hold((event.tenant_id, process_id, event.business_id), event.key)

    def _hold(self, place: _Id, instance_key: int) -> None:
        if place[2]:
            self._holders[place] = instance_key
            self._ids[instance_key] = place

    def ended(self, instance_key: int, at: int) -> c.ForKey | None:
        """The order that starts whoever waited longest for the id that is free now (Q11)."""
        place = self._ids.pop(instance_key, None)
        if place is None or self._holders.get(place) != instance_key:
            return None
        del self._holders[place]
        oldest = self._oldest(place)
        if oldest is None:
            return None
        _, key, message = oldest
        return c.ForKey(place[0], key, correlation.StartBuffered(message, place[1], at))

    def note(self, shard: "Shard", command: Any, event: Any) -> c.ForKey | None:
        """Be told an event of a shard, after it was applied; the answer is what follows from it."""
        kind = type(event)
        if kind is pe.InstanceCompleted or kind is pe.InstanceTerminated:
            return self.ended(event.key, command.at)
        if kind is pe.InstanceCreated:
            self.created(shard.definitions.by_key[event.definition_key].process_id, event)
        elif kind is e.InstanceStarted:
            self.started(command.tenant_id, event)
        elif kind is e.MessagePublished and event.message.stored and event.message.business_id:
            starts = shard.catalog.starts_for(command.tenant_id, event.message.name, event.at)
            self.published(command.tenant_id, command.key, event.message, [start.process_id for start in starts])
        return None

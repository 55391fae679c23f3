"""Business ids that may be held by one running instance of a process at a time (Q8-Q15), if that is switched on.

Who holds which id, and which stored messages bring one, over all shards of an engine in memory; a run on a store begins
with nothing and looks up what is needed. It listens to the events, answers the kernel whether an id is free, and finds
which message is next when one has become free. Whether that message may start its process is for the kernel to decide:
if it may not, the next one is tried.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from conjoin.errors import InputError
from conjoin.kernel.correlation import Message
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.marks import is_taken_by_process
from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.step import Item
from conjoin.store.port import IdHolder

if TYPE_CHECKING:
    from conjoin.runtime.engine.shard import Shard

_Id = tuple[str, str, str]
"""Tenant, process id, business id."""
Stored = tuple[str, Message]
"""A stored message and its correlation key."""


class BusinessIdSource(Protocol):
    """What a store knows of ids."""

    def holders(self, tenant_id: str, business_ids: Sequence[str]) -> Iterable[IdHolder]: ...

    def stored(self, tenant_id: str, business_id: str) -> Iterator[Stored]:
        """The messages with an id, oldest first, looked up as far as they are consumed."""


def refuse_unless_one(shards: int) -> None:
    """Of a store; in memory all shards share what is known of ids."""
    if shards != 1:
        raise InputError(
            ["unique business ids need a store with 1 shard: which instance holds an id is known within one shard"]
        )


class BusinessIds:
    def __init__(self, source: BusinessIdSource | None = None) -> None:
        self._source = source
        self._looked_up: set[tuple[str, str]] = set()
        self._holders: dict[_Id, int] = {}
        self._ids: dict[int, _Id] = {}
        self._stored: dict[tuple[str, str], dict[int, Stored]] = {}
        self._turns: dict[_Id, tuple[int, Iterator[Stored]]] = {}
        """The message that may start since the id became free, and those behind it."""

    def look_up(self, tenant_id: str, business_ids: Iterable[str]) -> None:
        """Who holds these ids, in bulk."""
        if self._source is None:
            return
        new = [it for it in dict.fromkeys(business_ids) if (tenant_id, it) not in self._looked_up]
        if new:
            self._looked_up.update((tenant_id, it) for it in new)
            for found in self._source.holders(tenant_id, new):
                self.hold(tenant_id, found.process_id, found.business_id, found.instance_key)

    def hold(self, tenant_id: str, process_id: str, business_id: str, instance_key: int) -> None:
        if business_id:
            place = (tenant_id, process_id, business_id)
            self._holders[place] = instance_key
            self._ids[instance_key] = place

    def keep(self, tenant_id: str, key: str, message: Message) -> None:
        """A message was stored; they come in the order of their age."""
        if message.business_id:
            self._stored.setdefault((tenant_id, message.business_id), {})[message.key] = (key, message)

    def holder(self, tenant_id: str, process_id: str, business_id: str) -> int | None:
        """The instance that has it."""
        self.look_up(tenant_id, [business_id])
        return self._holders.get((tenant_id, process_id, business_id))

    def is_free(self, tenant_id: str, process_id: str, message: Message) -> bool:
        """No instance holds it, and it is no other message's turn (Q8, Q12)."""
        place = (tenant_id, process_id, message.business_id)
        if self.holder(*place) is not None:
            return False
        turn = self._turns.get(place)
        return turn is None or turn[0] == message.key

    def refusal(self, command: c.CreateInstance) -> pe.CommandRefused | None:
        """Q15."""
        if not command.business_id:
            return None
        holder = self.holder(command.tenant_id, command.process_id, command.business_id)
        if holder is None:
            return None
        text = f"instance {holder} of {command.process_id} has the business id {command.business_id!r}"
        return pe.CommandRefused("ALREADY_EXISTS", text)

    def note(self, shard: "Shard", command: Order, decided: Sequence[e.Event | Item]) -> Iterator[c.ForKey]:
        """After what was decided is applied; the answers are the orders that follow from it."""
        if isinstance(command, c.ForKey):
            for event in decided:
                if isinstance(event, e.InstanceStarted):
                    self.hold(command.tenant_id, event.process_id, event.message.business_id, event.instance_id)
                elif isinstance(event, e.MessagePublished):
                    if event.message.stored:
                        self.keep(command.tenant_id, command.key, event.message)
                elif isinstance(event, e.MessageExpired):
                    self._forget(command.tenant_id, event.message)
            if isinstance(command.command, correlation.StartBuffered):
                # It had its turn: if it may not start, the next one has.
                turn = command.command
                place = (command.tenant_id, turn.process_id, turn.message.business_id)
                _, behind = self._turns.pop(place)
                if not decided:
                    yield from self._next_turn(place, behind, turn.at)
            return
        for event in decided:
            if isinstance(event, (pe.InstanceCompleted, pe.InstanceTerminated)):
                yield from self._ended(shard, event.key, command.at)
            elif isinstance(event, pe.InstanceCreated) and not event.parent_key:
                # A called instance holds nothing: its caller does.
                process_id = shard.definitions.by_key[event.definition_key].process_id
                self.hold(event.tenant_id, process_id, event.business_id, event.key)

    def _forget(self, tenant_id: str, message: Message) -> None:
        place = (tenant_id, message.business_id)
        messages = self._stored.get(place)
        if messages is not None:
            messages.pop(message.key, None)
            if not messages:
                del self._stored[place]

    def _ended(self, shard: "Shard", instance_key: int, at: int) -> Iterator[c.ForKey]:
        """The message that waited longest for the id that is free now may start (Q11)."""
        place = self._ids.pop(instance_key, None)
        if place is None or self._holders.get(place) != instance_key:
            return
        del self._holders[place]
        starts = shard.catalog.starts_of(*place[:2], at)
        if starts:
            yield from self._next_turn(place, self._candidates(place, {start.name for start in starts}), at)

    def _candidates(self, place: _Id, names: Collection[str]) -> Iterator[Stored]:
        """Stored messages that the latest version of the process could be started by, oldest first."""
        tenant_id, process_id, business_id = place
        for key, message in self._waiting(tenant_id, business_id):
            if message.stored and message.name in names and not is_taken_by_process(message, process_id):
                yield key, message

    def _waiting(self, tenant_id: str, business_id: str) -> Iterator[Stored]:
        if self._source is not None:
            yield from self._source.stored(tenant_id, business_id)
        yield from list(self._stored.get((tenant_id, business_id), {}).values())

    def _next_turn(self, place: _Id, candidates: Iterator[Stored], at: int) -> Iterator[c.ForKey]:
        for key, message in candidates:
            self._turns[place] = (message.key, candidates)
            yield c.ForKey(place[0], key, correlation.StartBuffered(message, place[1], at))
            return

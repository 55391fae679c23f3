"""A shard that carries out the requests of a log again: all of it in memory, and nothing forgotten between commits.

It decides with the same kernel as a run and shares nothing with it beyond that: it loads no rows and writes none, so a
row that a run forgot to load or to write is found by comparing. What it knows at the end is turned into rows by
`keys.py` and `instances.py`.
"""

from collections.abc import Mapping
from functools import partial
from heapq import heapify
from typing import Any

from conjoin.kernel.correlation import KeySpace
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation.events import Event
from conjoin.kernel.coupling import Order
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import Keys
from conjoin.kernel.process import ProcessState
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.step import Item
from conjoin.runtime.client_api.messages import NewMessage, accepted, order_of
from conjoin.runtime.codec.json_text import json_bytes, json_text, read_json
from conjoin.runtime.codec.orders import Request, stamped, with_own_records, written_order
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.key_spaces import Place, SpaceStore
from conjoin.runtime.engine.placement import KeyHomes, Placement, shard_of
from conjoin.runtime.engine.shard import Decided, Shard, instance_keys
from conjoin.runtime.engine.stored_catalog import CatalogView, inbox_version
from conjoin.runtime.replay.rows import ReplayedInstances, ReplayedKeys
from conjoin.runtime.run.log import Entry, written_events
from conjoin.store.port import Facts
from conjoin.store.rows import OutboxRow

_BETWEEN_SHARDS = (
    *(c.DeliverMessage, c.RefuseSubscription, c.StartInstance),
    *(correlation.OpenSubscription, correlation.CloseSubscription, correlation.AcknowledgeCorrelation),
    *(correlation.RejectCorrelation, correlation.EndInstance, correlation.StartBuffered),
)
"""What no client sends: in a log it came from another shard."""


class WholeSpaces(SpaceStore):
    """Every key space that was ever touched, as it is."""

    def __init__(self) -> None:
        self.by_place: dict[Place, KeySpace] = {}

    def at(self, place: Place) -> KeySpace:
        space = self.by_place.get(place)
        if space is None:
            space = self.by_place[place] = KeySpace(*place)
        return space

    def settle(self, touched: Mapping[Place, KeySpace]) -> None:
        """None is put to rest: an explanation is replayed, too."""


class ReplayedShard(Shard):
    spaces: WholeSpaces

    def __init__(self, index: int, facts: Facts, homes: KeyHomes) -> None:
        super().__init__(index, ProcessState(Definitions(), Keys(index)), WholeSpaces())
        shards = facts.shards
        self.business_ids = BusinessIds() if facts.unique_business_ids else None
        self.sent: list[OutboxRow] = []
        """Everything that went to other shards, with the numbers it had there."""
        self.last_sent = 0
        self.taken: list[str] = []
        """The orders from other shards that the log holds."""
        self.key_rows = ReplayedKeys(self.spaces.by_place, shards > 1)
        self.instance_rows = ReplayedInstances(self.state)
        self._shards = shards
        self._homes = homes
        self._decided: list[Event | Item] = []
        self._outbox: list[tuple[int, Request]] = []
        self.keys.number_as(homes.number_of(index))

    def learn(self, view: CatalogView) -> None:
        """What was deployed and decided when a commit was made."""
        self.know(view.definitions, view.kernel_catalog(self.business_ids).asking(instance_keys(self.keys)))
        if self._shards > 1:
            placement = Placement(self._shards, view.definitions, self._homes)
            self.hand_on = partial(placement.hand_on, self, self._outbox)
        self._view = view

    def replay(self, entry: Entry) -> list[Any]:
        """Carry a request out again; the answer is its events, as a log holds them."""
        self.keys.next = entry.next_key
        request = entry.request
        inner = request.command if isinstance(request, c.ForKey) else request
        if isinstance(inner, _BETWEEN_SHARDS) or (isinstance(inner, c.BroadcastSignal) and not inner.starts):
            self.taken.append(json_text(written_order(request)))
        if isinstance(request, NewMessage) and shard_of(request.key, self._shards) != self.index:
            # An operator made it of a dead letter that was kept here.
            self._outbox.append((shard_of(request.key, self._shards), request))
            return []
        order = self._order_of(request, entry.at)
        self._decided.clear()
        if isinstance(order, c.ForKey) and isinstance(order.command, correlation.ExpireMessages):
            self._expire(order, [event.message for event in entry.events if event.kind == "MessageExpired"])
        elif isinstance(order, c.BroadcastSignal) and order.starts:
            # It concerns every shard, and each of them carries out its own.
            self.hand_on(order)
        else:
            self.carry_out(order)
        self.drain()
        events: list[Any] = read_json(json_bytes(written_events(self._decided)))
        return events

    def end_commit(self, at: int, catalog_version: int) -> None:
        self.key_rows.end_commit(at, catalog_version, self.catalog)
        self.instance_rows.end_commit()
        for receiver, order in self._outbox:
            self.last_sent += 1
            row = OutboxRow(self.last_sent, receiver, self.keys.counter, json_text(written_order(order)))
            self.sent.append(row)
        self._outbox.clear()
        self._deadlines.clear()
        self.answers.clear()

    def carry_out(self, command: Order) -> Decided:
        if isinstance(command, c.ForKey) and isinstance(command.command, correlation.RejectCorrelation):
            key = command.command.subscription.key
            space = self.spaces.at((command.tenant_id, command.key))
            own = space.subscriptions.get(key) or self.key_rows.awaiting_answer(key)
            command.command = with_own_records(command.command, own)
        decided = super().carry_out(command)
        self._decided += decided
        if isinstance(command, c.ForKey):
            self.key_rows.note(command, decided)
        else:
            self.instance_rows.note(command, decided)
        return decided

    def drain(self) -> None:
        while self.queue:
            self.carry_out(self.queue.popleft())
        self.settle()

    def _order_of(self, request: Request, at: int) -> Order:
        if not isinstance(request, NewMessage):
            return stamped(request, at)
        policies = self._view.inbox_policies if request.from_inbox else self.catalog.policies
        message = accepted(request, self.keys.take(), at, policies)
        if request.from_inbox:
            self.key_rows.accepted_under[message.key] = inbox_version(self._view.version)
        return order_of(request, message, at)

    def _expire(self, order: c.ForKey, logged: list[int]) -> None:
        """A sweep is bounded and may have looked at some of the messages only: which ones, is in the log."""
        space = self.spaces.at((order.tenant_id, order.key))
        every, known = space.deadlines, self.key_rows.known
        looked_at = [known[key].message for key in logged if key in known]
        space.deadlines = [(message.deadline, message.key, message) for message in looked_at]
        heapify(space.deadlines)
        self.carry_out(order)
        space.deadlines = every
        space.forget_ended()

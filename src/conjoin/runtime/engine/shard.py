"""A shard: one queue, both halves of the kernel on it, and everything that is alive under its keys.

First in, first out: what a command asks for next goes to the end of the queue, or into the outbox of another shard.
Invariant: between two calls from outside the queue is empty.
"""

from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush

from conjoin.errors import EndlessRequest
from conjoin.kernel.catalog import Catalog, NewInstance
from conjoin.kernel.correlation import KeySpace
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation.decide import decide
from conjoin.kernel.correlation.events import Event, MessageAnswered, MessagePublished, MessageRefused
from conjoin.kernel.coupling import Order, order_of, starts_first
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import Keys
from conjoin.kernel.process import ProcessState
from conjoin.kernel.process import commands as c
from conjoin.kernel.process.commands import ForKey
from conjoin.kernel.process.decide import decide_in
from conjoin.kernel.process.events import ProcessEvent
from conjoin.kernel.process.step import Item, Step
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.key_spaces import KeySpaces, Place, SpaceStore

Decided = Sequence[Event | Item]
"""Events, and the orders that follow from them."""
Listener = Callable[["Shard", Order, Event | Item], None]
Due = tuple[int, int, int]
"""An instant, the key of what is due then, and the shard."""

_NOTHING_DEPLOYED = Catalog()
MOST_STEPS = 1_000_000
"""How many may follow from one request. A signal that a hundred thousand instances catch takes half of that."""


class Shard:
    """`state` and `spaces` are where it finds what is alive."""

    def __init__(self, index: int, state: ProcessState, spaces: SpaceStore) -> None:
        self.index = index
        self.state = state
        self.spaces = spaces
        self.definitions = state.definitions
        self.keys = state.keys
        self.catalog = _NOTHING_DEPLOYED
        self.queue: deque[Order] = deque()
        self.answers: dict[int, Event] = {}
        self.listener: Listener | None = None
        self.business_ids: BusinessIds | None = None
        """Who holds which, where a business id may be held once."""
        self.hand_on: Callable[[Order], None] = self.queue.append
        """Where orders go that follow from others."""
        self._step = Step(state, self.definitions)
        self._deadlines: list[tuple[int, int, Place]] = []
        self._touched: dict[Place, KeySpace] = {}

    def know(self, definitions: Definitions, catalog: Catalog) -> None:
        """What is deployed, and the policies in force, from here on."""
        self.definitions = self.state.definitions = definitions
        self.catalog = catalog
        self._step = Step(self.state, definitions)

    def carry_out(self, command: Order) -> Decided:
        """One command, without what follows from it: that waits in the queue. Answers with what was decided."""
        return self.correlate(command) if isinstance(command, ForKey) else self.advance(command)

    def drain(self) -> None:
        queue, steps = self.queue, 0
        while queue:
            if steps == MOST_STEPS:
                raise EndlessRequest(steps)
            steps += 1
            self.carry_out(queue.popleft())
        self.settle()

    def settle(self) -> None:
        """The queue is empty: the keys that were touched come to rest."""
        self.spaces.settle(self._touched)
        self._touched.clear()

    def advance(self, command: c.Command) -> Sequence[Item]:
        state, hand_on, listener, ids = self.state, self.hand_on, self.listener, self.business_ids
        refused = ids.refusal(command) if ids is not None and isinstance(command, c.CreateInstance) else None
        decided: list[Item] = decide_in(self._step, command) if refused is None else [refused]
        for item in decided:
            if not isinstance(item, ProcessEvent):
                hand_on(item)
                continue
            item.apply(state)
            if listener is not None:
                listener(self, command, item)
        if ids is not None:
            for order in ids.note(self, command, decided):
                hand_on(order)
        return decided

    def correlate(self, command: ForKey) -> Sequence[Event]:
        place = (command.tenant_id, command.key)
        space = self._touched.get(place)
        if space is None:
            space = self._touched[place] = self.spaces.at(place)
        listener = self.listener
        orders: list[Order] = []
        decided = decide(space, command.command, self.catalog)
        for event in decided:
            event.apply(space)
            order = order_of(space, event)
            if order is not None:
                orders.append(order)
            elif isinstance(event, MessagePublished):
                message = event.message
                if message.stored:
                    heappush(self._deadlines, (message.deadline, message.key, place))
            elif isinstance(event, (MessageAnswered, MessageRefused)):
                self.answers[event.message.key] = event
            if listener is not None:
                listener(self, command, event)
        for order in starts_first(orders) if len(orders) > 1 else orders:
            self.hand_on(order)
        if self.business_ids is not None:
            for order in self.business_ids.note(self, command, decided):
                self.hand_on(order)
        return decided

    def due_timer(self) -> Due | None:
        heap = self.state.due_timers
        return (*heap[0], self.index) if heap else None

    def due_job(self) -> Due | None:
        heap = self.state.due_jobs
        return (*heap[0], self.index) if heap else None

    def due_expiry(self) -> Due | None:
        return (self._deadlines[0][0], 0, self.index) if self._deadlines else None

    def expire(self, at: int) -> Order:
        _, _, (tenant_id, key) = heappop(self._deadlines)
        return ForKey(tenant_id, key, correlation.ExpireMessages(at))


def shard_in_memory(index: int, definitions: Definitions) -> Shard:
    return Shard(index, ProcessState(definitions, Keys(index)), KeySpaces())


def instance_keys(keys: Keys) -> NewInstance:
    """The key of an instance that a message starts. Two of one message get two: taking it is final."""
    return lambda tenant_id, key, message, start: keys.take()

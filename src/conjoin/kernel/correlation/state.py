"""State: everything known of one correlation key of one tenant.

A `KeySpace` has one `Topic` for each message name on its key: the subscriptions that wait, by process (`Lane`), and
the stored messages in the order of their keys. Everything here is found in constant time, however many messages or
subscriptions one key has. Only events call the methods that change something.
"""

from bisect import insort
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappop, heappush, merge
from typing import TYPE_CHECKING, Final, final

from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.instants import NEVER
from conjoin.kernel.keys import InstanceId, SubscriptionKey

if TYPE_CHECKING:
    from conjoin.kernel.correlation.events import SubscriptionClosed

FEW: Final = 32
"""Below this many, looking at each is cheaper than keeping an index."""


@dataclass(slots=True)
class Lock:
    """A message-started instance of the process with this key is alive."""

    process_id: str
    instance_id: InstanceId
    since: int
    message: Message | None = None


@final
class Lane:
    """The open subscriptions of one process for one message name, by rank. Closed ones drop out lazily."""

    __slots__ = ("head", "open", "waiting")

    def __init__(self, subscription: Subscription) -> None:
        self.waiting = [subscription]
        self.head = 0
        self.open = 1

    def __iter__(self) -> Iterator[Subscription]:
        waiting = self.waiting
        for index in range(self.head, len(waiting)):
            if not waiting[index].closed:
                yield waiting[index]

    def add(self, subscription: Subscription) -> None:
        self.open += 1
        if self.waiting[-1].rank <= subscription.rank:
            self.waiting.append(subscription)
        else:
            insort(self.waiting, subscription, lo=self.head, key=lambda s: s.rank)

    def drop_closed(self) -> None:
        waiting = self.waiting
        head = self.head
        while waiting[head].closed:
            head += 1
        self.head = head
        if len(waiting) - self.open > self.open + FEW:
            self.waiting = [s for s in waiting if not s.closed]
            self.head = 0


@final
class Topic:
    """One message name on one correlation key."""

    __slots__ = ("cursors", "gone", "head", "held", "ids", "lanes", "last_closed", "messages", "missed")

    def __init__(self) -> None:
        self.lanes: dict[str, Lane] = {}
        self.messages: list[Message] = []
        self.head = 0
        self.gone = 0
        self.cursors: dict[str, int] | None = None
        self.ids: dict[str, Message] | None = None
        self.held: list[Message] | None = None
        self.missed: list[Message] | None = None
        self.last_closed: SubscriptionClosed | None = None

    def clear(self) -> None:
        if self.lanes:
            self.lanes.clear()
        if self.messages:
            self.messages.clear()
            self.head = self.gone = 0
        self.cursors = self.ids = self.held = self.missed = self.last_closed = None

    def open_subscriptions(self) -> Iterator[Subscription]:
        for lane in self.lanes.values():
            yield from lane

    def open_by_rank(self) -> Iterator[Subscription]:
        lanes = self.lanes.values()
        return merge(*lanes, key=lambda s: s.rank) if len(lanes) > 1 else self.open_subscriptions()

    def first_open(self) -> Subscription:
        """The one with the lowest rank; somebody waits."""
        firsts = [lane.waiting[lane.head] for lane in self.lanes.values()]
        return firsts[0] if len(firsts) == 1 else min(firsts, key=lambda s: s.rank)

    def first_for(self, mark: str) -> int:
        """Where the stored messages begin, without those at the front that the mark has taken already."""
        return self.cursors.get(mark, self.head) if self.cursors else self.head

    def stored_from(self, mark: str) -> Iterator[Message]:
        messages = self.messages
        for index in range(self.first_for(mark), len(messages)):
            if messages[index].stored:
                yield messages[index]

    def store(self, message: Message) -> None:
        message.stored = True
        messages = self.messages
        if messages and messages[-1].key > message.key:
            insort(messages, message, key=lambda m: m.key)
            self.cursors = None
        else:
            messages.append(message)

    def move_cursor(self, mark: str, cardinality: str) -> None:
        """Remember how far the front of the queue holds nothing more for this mark."""
        messages = self.messages
        if len(messages) - self.head < FEW:
            return
        cursors = self.cursors = self.cursors or {}
        index = cursors.get(mark, self.head)
        while index < len(messages) and _is_done_with(messages[index], mark, cardinality):
            index += 1
        cursors[mark] = index

    def unstore(self, message: Message) -> None:
        message.stored = False
        self.gone += 1
        if self.gone > FEW and self.gone * 2 > len(self.messages):
            self.messages = [m for m in self.messages if m.stored]
            self.gone = self.head = 0
            self.cursors = None
            return
        messages = self.messages
        head = self.head
        while head < len(messages) and not messages[head].stored:
            head += 1
        self.head = head


def _is_done_with(message: Message, mark: str, cardinality: str) -> bool:
    """Will nobody who stands for the mark ever take it? Only known of messages marked in the same way (U2)."""
    return not message.stored or (message.policy.cardinality == cardinality and mark in message.marks)


@final
class KeySpace:
    """Messages, subscriptions, marks and locks of one (tenant, correlation key)."""

    __slots__ = ("_spare", "awaited", "deadlines", "key", "locks", "subscriptions", "tenant_id", "topics")

    def __init__(self, tenant_id: str, key: str) -> None:
        self.tenant_id = tenant_id
        self.key = key
        self.topics: dict[str, Topic] = {}
        self.awaited: dict[str, Topic] = {}
        """The topics for which somebody waits, by name."""
        self.subscriptions: dict[SubscriptionKey, Subscription] = {}
        self.locks: dict[str, Lock] = {}
        self.deadlines: list[tuple[int, int, Message]] = []
        self._spare: list[Topic] = []

    def clear(self, key: str) -> None:
        """Empty it for another correlation key; what it has allocated is used again."""
        self.key = key
        spare = self._spare
        for topic in self.topics.values():
            if len(spare) < 2:
                topic.clear()
                spare.append(topic)
        # Emptied as well: the order of its topics is seen in explanations, and belongs to one key.
        self.topics.clear()
        self.awaited.clear()
        self.subscriptions.clear()
        if self.locks:
            self.locks.clear()
        if self.deadlines:
            self.deadlines.clear()

    def new_topic(self, name: str) -> Topic:
        topic = self.topics[name] = self._spare.pop() if self._spare else Topic()
        return topic

    def add_subscription(self, subscription: Subscription) -> None:
        """It waits from now on, or again, where only it was kept of its key."""
        name, process_id = subscription.name, subscription.process_id
        topic = self.topics.get(name) or self.new_topic(name)
        lane = topic.lanes.get(process_id)
        if lane is None:
            topic.lanes[process_id] = Lane(subscription)
            self.awaited[name] = topic
        else:
            lane.add(subscription)
        self.subscriptions[subscription.key] = subscription
        if topic.missed:
            for message in topic.missed:
                message.late_subscription = subscription
            topic.missed = None

    def watch_deadline(self, message: Message) -> None:
        if message.deadline != NEVER:
            heappush(self.deadlines, (message.deadline, message.key, message))

    def due(self, at: int, limit: int) -> list[Message]:
        """The stored messages whose deadline has come, the earliest first, at most so many (F3, F4)."""
        heap = self.deadlines
        found: list[Message] = []
        if not heap or heap[0][0] > at:
            return found
        look = [(heap[0], 0)]
        while look and len(found) < limit:
            entry, index = heappop(look)
            if entry[2].stored:
                found.append(entry[2])
            for child in (2 * index + 1, 2 * index + 2):
                if child < len(heap) and heap[child][0] <= at:
                    heappush(look, (heap[child], child))
        return found

    def forget_ended(self) -> None:
        heap = self.deadlines
        while heap and not heap[0][2].stored:
            heappop(heap)

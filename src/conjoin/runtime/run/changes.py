"""What a run has changed, as rows: derived from the events it decided and the state it left.

Instances are compared with what was loaded; keys and messages are looked at where an event touched them. The rows say
what is so now; they never say what to do.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.state import Topic
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.process import commands as c
from conjoin.kernel.verdicts.verdicts import verdict_of
from conjoin.runtime.codec.key_spaces import Loaded, in_crowd, lock_row, subscription_row
from conjoin.runtime.codec.messages import NOTHING_SPECIAL, Standing, message_row
from conjoin.runtime.engine.key_spaces import Place
from conjoin.runtime.run.working_set import crowds
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store import tables as t
from conjoin.store.rows import SubscriptionRow
from conjoin.store.tables import Table

Put = dict[Table, list[Any]]
Drop = dict[Table, list[tuple[Any, ...]]]


class KeyChanges:
    """The changes of key spaces in one run."""

    def __init__(self, its: WorkingSet, now: int, catalog_version: int) -> None:
        self._its = its
        self._now = now
        self._version = catalog_version
        self.decided: list[Any] = []
        """The rows of messages whose verdict is another one than before."""
        self._messages: dict[int, tuple[Place, Message]] = {}
        self._subscriptions: dict[int, tuple[Place, Subscription]] = {}
        self._closed: dict[int, int] = {}
        self._answered: set[int] = set()
        self._locks: dict[tuple[Place, str], None] = {}
        self.put: Put = {}
        self.drop: Drop = {}

    def note(self, order: c.ForKey, decided: Sequence[Any]) -> None:
        """Events of the correlation half."""
        place = (order.tenant_id, order.key)
        for event in decided:
            kind = type(event)
            if kind in _WITH_MESSAGE:
                self._messages[event.message.key] = (place, event.message)
                if kind is e.MessagePublished and event.message.message_id:
                    self._note_successor(place, event.message)
            if kind in _WITH_SUBSCRIPTION:
                self._subscriptions[event.subscription.key] = (place, event.subscription)
                if kind is e.SubscriptionClosed:
                    self._closed[event.subscription.key] = event.at
            elif kind in _WITH_LOCK:
                self._locks[place, event.process_id] = None
        if type(order.command) in _ANSWERS:
            self._note_answer(place, order.command)
        elif type(order.command) is correlation.ExpireMessages:
            self._note_forgotten(place, order.command.at)

    def _note_forgotten(self, place: Place, at: int) -> None:
        """An id that is not remembered any more: no event tells of it, but its message is live no longer."""
        loaded = self._its.spaces.by_place[place]
        for key, message in loaded.messages.items():
            topic = loaded.space.topics[message.name]
            if topic.ids and topic.ids.get(message.message_id) is message and remembered_until(message) <= at:
                self._messages[key] = (place, message)

    def _note_successor(self, place: Place, message: Message) -> None:
        """Its id was free again, and is its own from now on: who had it before was perhaps live for nothing else."""
        if isinstance(message.policy.dedup, str):
            return
        for key, before in self._its.spaces.by_place[place].messages.items():
            if before.message_id == message.message_id and before.name == message.name:
                self._messages[key] = (place, before)

    def _note_answer(self, place: Place, command: Any) -> None:
        """A closed subscription that only waited for this answer is done with, whatever the answer was.

        The message is not on its way any more, and perhaps nothing else kept it live.
        """
        message_key = command.message.key if hasattr(command, "message") else command.message_key
        message = self._its.spaces.by_place[place].messages.get(message_key)
        if message is not None:
            self._messages[message_key] = (place, message)
        key = command.subscription.key if hasattr(command, "subscription") else command.subscription_key
        self._answered.add(key)
        subscription = self._its.spaces.by_place[place].awaiting.pop(key, None)
        if subscription is not None:
            self._subscriptions[key] = (place, subscription)

    def finish(self) -> None:
        loaded = self._its.spaces.by_place
        if self._subscriptions:
            for key, (place, subscription) in self._subscriptions.items():
                self._subscription(key, place, subscription, loaded[place])
        self._put_crowds_in_order()
        if self._messages:
            rows = [self._message(place, message, loaded[place]) for place, message in self._messages.values()]
            self.put[t.MESSAGE] = rows
        for place, process_id in self._locks:
            self._lock(place, process_id, loaded[place])

    def _subscription(self, key: int, place: Place, subscription: Subscription, loaded: Loaded) -> None:
        if not subscription.closed:
            self._put_subscription(place, subscription_row(place, subscription, None))
            return
        if subscription.busy_with is not None and key in self._answered:
            subscription.busy_with = None
        waits = subscription.busy_with is not None
        topic = loaded.space.topics.get(subscription.name)
        last = topic.last_closed if topic is not None else None
        if not waits and (last is None or last.subscription is not subscription):
            self._drop(t.SUBSCRIPTION, (*place, key))
            return
        self._put_subscription(place, subscription_row(place, subscription, self._closed.get(key, self._now)))
        if waits:
            loaded.awaiting[key] = subscription
        elif (before := loaded.kept.get(subscription.name, key)) != key:
            self._drop(t.SUBSCRIPTION, (*place, before))

    def _put_subscription(self, place: Place, row: SubscriptionRow) -> None:
        self._put(t.SUBSCRIPTION, in_crowd(row) if place in self._its.spaces.crowds else row)

    def _put_crowds_in_order(self) -> None:
        """Where very many wait from now on, each is told where it stands; see `Crowd`."""
        touched = Counter(place for place, _ in self._subscriptions.values())
        most = crowds.MOST_WAITING
        for place, loaded in self._its.spaces.by_place.items():
            if place not in self._its.spaces.crowds and len(loaded.rows) + touched[place] >= most:
                self._put_in_order(place, loaded, most)

    def _put_in_order(self, place: Place, loaded: Loaded, most: int) -> None:
        written = self.put.get(t.SUBSCRIPTION, [])
        gone = {key for *_, key in self.drop.get(t.SUBSCRIPTION, ())}
        rows = {key: row for key, row in loaded.rows.items() if key not in gone}
        rows |= {row.key: row for row in written if row[:2] == place}
        if len(rows) >= most:
            others = [row for row in written if row[:2] != place]
            self.put[t.SUBSCRIPTION] = [*others, *map(in_crowd, rows.values())]

    def _message(self, place: Place, message: Message, loaded: Loaded) -> Any:
        crowd = self._its.spaces.crowds.get(place)
        if crowd is not None:
            self._look_around(message, crowd)
        verdict = verdict_of(loaded.space, message, self._now, self._its.catalog)
        version = loaded.versions.get(message.key, self._version)
        row = message_row(place, message, self._standing(message, loaded), verdict, version)
        if loaded.fates.get(message.key) != (row.verdict, row.reason):
            self.decided.append(row)
        return row

    def _look_around(self, message: Message, crowd: crowds.Crowd) -> None:
        """Whoever its verdict and its standing depend on."""
        if self._its.is_one_of_many:
            crowd.receivers_of(message)
        if not message.targets and message.ended is None:
            crowd.until_awaited(message)

    def _standing(self, message: Message, loaded: Loaded) -> Standing:
        topic = loaded.space.topics.get(message.name)
        if topic is None:
            return NOTHING_SPECIAL
        held = bool(topic.held) and message in (topic.held or ())
        busy = self._its.is_one_of_many and _is_on_its_way(message)
        return Standing(held, _is_remembered(topic, message, self._now), busy)

    def _lock(self, place: Place, process_id: str, loaded: Loaded) -> None:
        lock = loaded.space.locks.get(process_id)
        if lock is None:
            self._drop(t.LOCK, (*place, process_id))
        else:
            self._put(t.LOCK, lock_row(place, lock))

    def _put(self, table: Table, row: Any) -> None:
        self.put.setdefault(table, []).append(row)

    def _drop(self, table: Table, key: tuple[Any, ...]) -> None:
        self.drop.setdefault(table, []).append(key)


def _is_remembered(topic: Topic, message: Message, now: int) -> bool:
    if not message.message_id or not topic.ids or topic.ids.get(message.message_id) is not message:
        return False
    return remembered_until(message) > now


def _is_on_its_way(message: Message) -> bool:
    """Only between shards: on one shard every delivery is answered in the same run."""
    receivers = (getattr(target, "subscription", None) for target in message.targets)
    return any(receiver is not None and receiver.busy_with is message for receiver in receivers)


_WITH_MESSAGE = frozenset(
    {
        *(e.MessagePublished, e.MessageCorrelated, e.InstanceStarted, e.MessageRefused, e.MessageDiscarded),
        *(e.MessageExpired, e.MessageHeld, e.MessageReleased, e.MessageAnswered, e.CorrelationGivenBack),
        e.CorrelationAcknowledged,
    }
)
_WITH_SUBSCRIPTION = frozenset(
    {
        *(e.SubscriptionOpened, e.SubscriptionClosed, e.MessageCorrelated),
        *(e.CorrelationAcknowledged, e.CorrelationGivenBack),
    }
)
_WITH_LOCK = frozenset({e.InstanceStarted, e.LockFreed})
_ANSWERS = frozenset({correlation.AcknowledgeCorrelation, correlation.RejectCorrelation})

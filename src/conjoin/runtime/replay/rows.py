"""The rows that a replayed shard should have: of messages, subscriptions and locks, and of instances with their index.

They are read off the whole state at the end; only what a row keeps of the past is noted on the way: the verdict that a
message had when something last happened to it, which closed subscriptions are kept, and the row of an instance that
ended, made when its commit ended.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace, Message, Subscription
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation.events import SubscriptionClosed
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance, ProcessState
from conjoin.kernel.verdicts.verdicts import Verdict, verdict_of
from conjoin.runtime.codec.instance_waits import subscription_row
from conjoin.runtime.codec.instances import IndexRows, body_of, ended_body, index_rows, instance_row, timer_row
from conjoin.runtime.codec.key_spaces import lock_row
from conjoin.runtime.codec.messages import Standing, message_row
from conjoin.runtime.engine.key_spaces import Place
from conjoin.runtime.engine.shard import Decided
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow, LockRow, MessageRow, SubscriptionRow


class KnownMessage(NamedTuple):
    """A message, what was last decided of it and when, and the catalog version that it was accepted under."""

    place: Place
    message: Message
    verdict: Verdict
    at: int
    version: int


class Closed(NamedTuple):
    place: Place
    event: SubscriptionClosed


class ReplayedKeys:
    def __init__(self, spaces: Mapping[Place, KeySpace], one_of_many: bool) -> None:
        self.known: dict[int, KnownMessage] = {}
        self.over: dict[int, MessageRow] = {}
        """Of a snapshot, those that nothing can happen to any more."""
        self.accepted_under: dict[int, int] = {}
        """The version of the policies of messages of this commit that were not accepted under those of the store."""
        self.locks_before: dict[tuple[Any, ...], LockRow] = {}
        """Of a snapshot: the message that a lock was taken for may be one of those."""
        self._spaces = spaces
        self._one_of_many = one_of_many
        self._touched: dict[int, tuple[Place, Message]] = {}
        self._answered: set[int] = set()
        self._closed: list[Closed] = []
        self._awaiting: dict[int, Closed] = {}
        self._kept: dict[tuple[Place, str], SubscriptionClosed] = {}

    def awaiting_answer(self, key: int) -> Subscription | None:
        """A closed subscription to which a message is still on its way; perhaps it was closed in this commit."""
        just_now = (closed for closed in self._closed if closed.event.subscription.key == key)
        closed = self._awaiting.get(key) or next(just_now, None)
        return None if closed is None else closed.event.subscription

    def keep(self, closed: Closed) -> None:
        """As a snapshot has it."""
        subscription = closed.event.subscription
        if subscription.busy_with is not None:
            self._awaiting[subscription.key] = closed
        else:
            self._kept[closed.place, subscription.name] = closed.event

    def note(self, order: c.ForKey, decided: Decided) -> None:
        place = (order.tenant_id, order.key)
        for event in decided:
            message = getattr(event, "message", None)
            if message is not None:
                self._touched[message.key] = (place, message)
            if isinstance(event, SubscriptionClosed):
                self._closed.append(Closed(place, event))
        command = order.command
        if isinstance(command, correlation.AcknowledgeCorrelation):
            self._answered.add(command.subscription_key)
        elif isinstance(command, correlation.RejectCorrelation):
            self._answered.add(command.subscription.key)

    def end_commit(self, at: int, catalog_version: int, catalog: Catalog) -> None:
        self._sort_closed()
        for key, (place, message) in self._touched.items():
            before = self.known.get(key)
            verdict = verdict_of(self._spaces[place], message, at, catalog)
            version = before.version if before else self.accepted_under.get(key, catalog_version)
            self.known[key] = KnownMessage(place, message, verdict, at, version)
        self._touched.clear()
        self.accepted_under.clear()
        self._answered.clear()
        self._closed.clear()

    def _sort_closed(self) -> None:
        """Those that still wait for an answer stay until it comes; else the last one of each name is kept."""
        for key in self._answered:
            answered = self._awaiting.pop(key, None)
            if answered is not None:
                answered.event.subscription.busy_with = None
        for closed in self._closed:
            subscription = closed.event.subscription
            if subscription.key in self._answered:
                subscription.busy_with = None
            elif subscription.busy_with is not None:
                self._awaiting[subscription.key] = closed
        for place, event in self._closed:
            topic = self._spaces[place].topics[event.subscription.name]
            which = (place, event.subscription.name)
            last = topic.last_closed
            if last is not None and last.subscription.busy_with is None:
                self._kept[which] = last
            topic.last_closed = self._kept.get(which)

    def subscriptions(self) -> Iterator[SubscriptionRow]:
        for place, space in self._spaces.items():
            for subscription in space.subscriptions.values():
                yield subscription_row(place, subscription, None)
        for place, event in self._awaiting.values():
            yield subscription_row(place, event.subscription, event.at)
        for (place, _), event in self._kept.items():
            yield subscription_row(place, event.subscription, event.at)

    def locks(self) -> Iterator[LockRow]:
        for place, space in self._spaces.items():
            for lock in space.locks.values():
                row = lock_row(place, lock)
                yield row if lock.message is not None else self.locks_before.get(row[:4], row)

    def messages(self, now: int) -> Iterator[tuple[MessageRow, MessageRow]]:
        """Each twice: as it is, and as it is once a sweep has noticed that its id is no longer remembered."""
        yield from ((row, row) for row in self.over.values())
        waiting = [it for space in self._spaces.values() for it in space.subscriptions.values()]
        waiting += [closed.event.subscription for closed in self._awaiting.values()]
        busy = {it.busy_with.key for it in waiting if it.busy_with is not None} if self._one_of_many else set()
        for place, message, verdict, at, version in self.known.values():
            topic = self._spaces[place].topics.get(message.name)
            is_held = topic is not None and message in (topic.held or ())
            is_remembered = topic is not None and (topic.ids or {}).get(message.message_id) is message
            until = remembered_until(message) if is_remembered else 0
            standing = Standing(is_held, until > at, message.key in busy)
            row = later = message_row(place, message, standing, verdict, version)
            if at < until <= now:
                standing.remembered = False
                later = message_row(place, message, standing, verdict, version)
            yield row, later


class ReplayedInstances:
    def __init__(self, state: ProcessState) -> None:
        self._state = state
        self._live: dict[int, Instance] = {}
        self._began: dict[int, int] = {}
        self._trees: dict[int, int] = {}
        self._new: list[Instance] = []
        self._over: dict[int, tuple[str, int]] = {}
        self.ended: dict[int, InstanceRow] = {}

    def note(self, order: c.Command, decided: Decided) -> None:
        for event in decided:
            if isinstance(event, pe.InstanceCreated):
                instance = self._state.elements[event.key]
                assert isinstance(instance, Instance)
                self._live[event.key] = instance
                self._began[event.key] = order.at
                self._new.append(instance)
            elif isinstance(event, pe.InstanceCompleted):
                self._over[event.key] = ("completed", order.at)
            elif isinstance(event, pe.InstanceTerminated):
                self._over[event.key] = ("terminated", order.at)

    def end_commit(self) -> None:
        for instance in self._new:
            self._trees[instance.key] = self._tree_of(instance)
        for key, (state, at) in self._over.items():
            instance = self._live.pop(key)
            self.ended[key] = self._row(instance, state, at, ended_body(instance), 0)
            del self._began[key], self._trees[key]
        self._new.clear()
        self._over.clear()

    def _tree_of(self, instance: Instance) -> int:
        """The outermost instance around one; what is gone by the end of its first commit does not count."""
        call = self._state.elements.get(instance.parent_key)
        return instance.key if call is None else self._tree_of(call.instance)

    def put(self, row: InstanceRow, instance: Instance) -> None:
        """A live one, as a snapshot has it."""
        self._live[row.key] = instance
        self._began[row.key] = row.started_at
        self._trees[row.key] = row.tree_key

    def _row(self, instance: Instance, state: str, ended_at: int | None, body: str, incidents: int) -> InstanceRow:
        times = (self._began[instance.key], ended_at)
        return instance_row(instance, self._trees[instance.key], state, times, incidents, body)

    def instances(self) -> Iterator[InstanceRow]:
        yield from self.ended.values()
        for instance in self._live.values():
            incidents = sum(table is t.INCIDENT for table, _ in index_rows(instance, self._state))
            yield self._row(instance, "active", None, body_of(instance, self._state), incidents)

    def index(self) -> IndexRows:
        """Jobs, incidents, scopes, signals, and timers with those of start events."""
        found: IndexRows = {}
        for instance in self._live.values():
            found |= index_rows(instance, self._state)
        for place, keys in self._state.start_timers.items():
            found |= {(t.TIMER, key): timer_row(self._state.timers[key], 0, *place) for key in keys}
        return found

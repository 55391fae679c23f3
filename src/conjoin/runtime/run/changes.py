"""What a run has changed, as rows: derived from the events it decided and the state it left.

Keys and messages are looked at where an event touched them. An instance is written again if its text is another than
the one that was loaded. The rows say what is so now; they never say what to do. An instance grows up to a bound: to
load it takes several times its size, and every change writes all of it. One that is larger, as an earlier version may
have left it, still loads, and may become smaller or end.
"""

from collections import Counter
from typing import Any, NamedTuple

from conjoin.errors import InstanceTooLarge
from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance
from conjoin.kernel.verdicts.verdicts import verdict_of
from conjoin.runtime.codec.instance_waits import FIRST, InstanceWaits, WaitColumns, subscription_row
from conjoin.runtime.codec.instances import body_of, ended_body, index_rows, instance_row, timer_row
from conjoin.runtime.codec.key_spaces import Loaded, in_crowd, lock_row
from conjoin.runtime.codec.messages import NOTHING_SPECIAL, Standing, message_row
from conjoin.runtime.engine.key_spaces import Place
from conjoin.runtime.engine.shard import Decided
from conjoin.runtime.run.home_waits import HomeWaits
from conjoin.runtime.run.working_set import loaded_spaces
from conjoin.runtime.run.working_set.working_set import WorkingSet
from conjoin.store import tables as t
from conjoin.store.rows import InstanceRow, MessageRow, SubscriptionRow
from conjoin.store.tables import NarrowUpdate, Table

ACTIVE, COMPLETED, TERMINATED = "active", "completed", "terminated"
MOST_BODY_BYTES = 64 * 1024 * 1024
"""All of an instance as it is stored: its variables, and everything alive inside."""
_MOST_BYTES_A_CHARACTER = 4


class _RowChanges:
    def __init__(self, its: WorkingSet) -> None:
        self._its = its
        self.put: dict[Table, list[Any]] = {}
        self.drop: dict[Table, list[tuple[Any, ...]]] = {}

    def _put(self, table: Table, row: tuple[Any, ...]) -> None:
        self.put.setdefault(table, []).append(row)

    def _drop(self, table: Table, *key: int | str) -> None:
        self.drop.setdefault(table, []).append(key)


class KeyChanges(_RowChanges):
    """The changes of key spaces in one run."""

    def __init__(self, its: WorkingSet, now: int, catalog_version: int) -> None:
        super().__init__(its)
        self._now = now
        self._version = catalog_version
        self.decided: list[MessageRow] = []
        """The rows of messages whose verdict has changed."""
        self._messages: dict[int, tuple[Place, Message]] = {}
        self._subscriptions: dict[int, tuple[Place, Subscription]] = {}
        self._closed: dict[int, int] = {}
        self._answered: set[tuple[int, int]] = set()
        """Subscriptions, each with a message that was answered for it."""
        self._locks: dict[tuple[Place, str], None] = {}
        self.homes = HomeWaits(its.state)

    def note(self, order: c.ForKey, decided: Decided) -> None:
        """Events of the correlation half."""
        place = (order.tenant_id, order.key)
        for event in decided:
            concerns = _CONCERNS.get(type(event), 0)
            if concerns & _MESSAGE:
                self._messages[event.message.key] = (place, event.message)  # type: ignore[union-attr]
                if isinstance(event, e.MessagePublished) and event.message.message_id:
                    self._note_successor(place, event.message)
            if concerns & _SUBSCRIPTION:
                self._subscriptions[event.subscription.key] = (place, event.subscription)  # type: ignore[union-attr]
                if isinstance(event, e.SubscriptionClosed):
                    self._closed[event.subscription.key] = event.at
            elif concerns & _LOCK:
                self._locks[place, event.process_id] = None  # type: ignore[union-attr]
        command = order.command
        if isinstance(command, correlation.AcknowledgeCorrelation):
            self._note_answer(place, command.message_key, command.subscription_key)
        elif isinstance(command, correlation.RejectCorrelation):
            self._note_answer(place, command.message.key, command.subscription.key)
        elif isinstance(command, correlation.ExpireMessages):
            self._note_forgotten(place, command.at)

    def _note_forgotten(self, place: Place, at: int) -> None:
        """An id that is not remembered any more: it makes no event, but its message is no longer live."""
        loaded = self._its.spaces.by_place[place]
        for key, message in loaded.messages.items():
            topic = loaded.space.topics[message.name]
            if topic.ids and topic.ids.get(message.message_id) is message and remembered_until(message) <= at:
                self._messages[key] = (place, message)

    def _note_successor(self, place: Place, message: Message) -> None:
        """Its id was free again, and is its own from now on: the one before was perhaps live for nothing else."""
        if isinstance(message.policy.dedup, str):
            return
        for key, before in self._its.spaces.by_place[place].messages.items():
            if before.message_id == message.message_id and before.name == message.name:
                self._messages[key] = (place, before)

    def _note_answer(self, place: Place, message_key: int, key: int) -> None:
        """A closed subscription that only waited for this answer is done with, whatever the answer was.

        The message is not on its way any more, and perhaps nothing else kept it live.
        """
        loaded = self._its.spaces.by_place[place]
        message = loaded.messages.get(message_key)
        if message is not None:
            self._messages[message_key] = (place, message)
        self._answered.add((key, message_key))
        subscription = loaded.awaiting.pop(key, None)
        if subscription is not None:
            self._subscriptions[key] = (place, subscription)

    def finish(self) -> None:
        by_place = self._its.spaces.by_place
        for key, (place, subscription) in self._subscriptions.items():
            # What is closed makes room for what is open.
            if subscription.closed:
                self._closed_one(key, place, subscription, by_place[place])
        for key, (place, subscription) in self._subscriptions.items():
            if not subscription.closed:
                self._open_one(key, place, subscription, by_place[place])
        self._put_crowds_in_order()
        if self._messages:
            rows = [self._message(place, message, by_place[place]) for place, message in self._messages.values()]
            self.put[t.MESSAGE] = rows
        for place, process_id in self._locks:
            lock = by_place[place].space.locks.get(process_id)
            if lock is None:
                self._drop(t.LOCK, *place, process_id)
            else:
                self._put(t.LOCK, lock_row(place, lock))

    def let_go(self) -> None:
        """A message and whoever has taken it know each other."""
        for _, message in self._messages.values():
            message.targets = ()

    def _open_one(self, key: int, place: Place, subscription: Subscription, loaded: Loaded) -> None:
        if key not in loaded.rows and place not in self._its.spaces.crowds and subscription.busy_with is None:
            leaving = self.homes.open(place, subscription, loaded)
            if leaving is not None:
                for other_key, event in leaving:
                    other = (place[0], other_key)
                    self._put_apart(other, subscription_row(other, event.subscription, event.at))
                return
        self.homes.take_out(loaded, key)
        self._put_apart(place, subscription_row(place, subscription, None))

    def _closed_one(self, key: int, place: Place, subscription: Subscription, loaded: Loaded) -> None:
        busy_with = subscription.busy_with
        if busy_with is not None and (key, busy_with.key) in self._answered:
            subscription.busy_with = None
        waits = subscription.busy_with is not None
        topic = loaded.space.topics.get(subscription.name)
        last = topic.last_closed if topic is not None else None
        self.homes.take_out(loaded, key)
        at = self._closed.get(key, self._now)
        if waits:
            loaded.awaiting[key] = subscription
        elif last is None or last.subscription is not subscription:
            self._drop_apart(key, place, loaded)
            return
        else:
            before = loaded.kept.get(subscription.name, key)
            if before != key and not self.homes.take_out(loaded, before):
                self._drop_apart(before, place, loaded)
            if place not in self._its.spaces.crowds and self.homes.keep(place, e.SubscriptionClosed(subscription, at)):
                self._drop_apart(key, place, loaded)
                return
        self._put_apart(place, subscription_row(place, subscription, at))

    def _put_apart(self, place: Place, row: SubscriptionRow) -> None:
        self._put(t.APART, in_crowd(row) if place in self._its.spaces.crowds else row)

    def _drop_apart(self, key: int, place: Place, loaded: Loaded) -> None:
        if key in loaded.rows:
            self._drop(t.APART, *place, key)

    def _put_crowds_in_order(self) -> None:
        """Where very many wait from now on, each row gets its place among them; see `Crowd`."""
        most, by_place = loaded_spaces.MOST_WAITING, self._its.spaces.by_place
        if len(self._subscriptions) < most and not any(loaded.rows for loaded in by_place.values()):
            return
        touched = Counter(place for place, _ in self._subscriptions.values())
        for place, loaded in by_place.items():
            if place in self._its.spaces.crowds or len(loaded.rows) + touched[place] < most:
                continue
            written = self.put.get(t.APART, [])
            gone = {key for *_, key in self.drop.get(t.APART, ())}
            rows = {key: row for key, row in loaded.rows.items() if key not in gone}
            rows |= {row.key: row for row in written if row[:2] == place}
            if len(rows) >= most:
                others = [row for row in written if row[:2] != place]
                self.put[t.APART] = [*others, *map(in_crowd, rows.values())]

    def _message(self, place: Place, message: Message, loaded: Loaded) -> MessageRow:
        crowd = self._its.spaces.crowds.get(place)
        if crowd is not None:
            # The subscriptions that its verdict and its standing depend on.
            if self._its.is_one_of_many:
                crowd.receivers_of(message)
            if not message.targets and message.ended is None:
                crowd.until_awaited(message)
        verdict = verdict_of(loaded.space, message, self._now, self._its.catalog)
        version = loaded.versions.get(message.key, self._version)
        row = message_row(place, message, self._standing(message, loaded), verdict, version)
        if loaded.fates.get(message.key) != (row.verdict, row.reason):
            self.decided.append(row)
        return row

    def _standing(self, message: Message, loaded: Loaded) -> Standing:
        topic = loaded.space.topics.get(message.name)
        if topic is None:
            return NOTHING_SPECIAL
        is_held = bool(topic.held) and message in (topic.held or ())
        has_id = bool(message.message_id and topic.ids and topic.ids.get(message.message_id) is message)
        # On one shard every delivery is answered in the same run.
        is_on_its_way = self._its.is_one_of_many and any(
            isinstance(target, e.MessageCorrelated) and target.subscription.busy_with is message
            for target in message.targets
        )
        return Standing(is_held, has_id and remembered_until(message) > self._now, is_on_its_way)


class ChangedInstance(NamedTuple):
    instance: Instance
    before: InstanceRow | None
    state: str
    ended_at: int | None
    incidents: int
    body: str


class InstanceChanges(_RowChanges):
    def __init__(self, its: WorkingSet) -> None:
        super().__init__(its)
        self.update: dict[NarrowUpdate, list[tuple[Any, ...]]] = {}
        self.ended: list[InstanceRow] = []
        self._started: dict[int, int] = {}
        self._ended: dict[int, tuple[str, int]] = {}
        self._changed: dict[int, ChangedInstance] = {}

    def note(self, order: c.Command, decided: Decided) -> None:
        """Events of the process half."""
        for event in decided:
            if isinstance(event, pe.InstanceCreated):
                self._started[event.key] = order.at
            elif isinstance(event, pe.InstanceCompleted):
                self._ended[event.key] = (COMPLETED, order.at)
            elif isinstance(event, pe.InstanceTerminated):
                self._ended[event.key] = (TERMINATED, order.at)

    def finish(self) -> None:
        state = self._its.state
        for instance in state.live.values():
            changed = self._changes_of(instance)
            if changed is not None:
                self._changed[instance.key] = changed
        start_timers = {key: place for place, keys in state.start_timers.items() for key in keys}
        for key, place in start_timers.items():
            if key not in state.start_timer_rows:
                self._put(t.TIMER, timer_row(state.timers[key], 0, *place))
        for key in state.start_timer_rows:
            if key not in start_timers:
                self._drop(t.TIMER, key)

    def moved(self) -> dict[Table, set[int]]:
        """The timers and jobs that have changed, or are gone."""
        return {
            table: {row.key for row in self.put.get(table, ())} | {key for (key,) in self.drop.get(table, ())}
            for table in (t.TIMER, t.JOB)
        }

    def _changes_of(self, instance: Instance) -> ChangedInstance | None:
        state, key = self._its.state, instance.key
        before = state.rows.get(key)
        ended = self._ended.get(key)
        body = body_of(instance, state) if ended is None else ended_body(instance)
        if before is not None and before.body == body and ended is None:
            return None
        if len(body) * _MOST_BYTES_A_CHARACTER > MOST_BODY_BYTES:
            size = len(body.encode())
            if size > MOST_BODY_BYTES and size > len("" if before is None else before.body.encode()):
                raise InstanceTooLarge(key, size, MOST_BODY_BYTES)
        indexed, index = state.indexed.get(key, {}), index_rows(instance, state) if ended is None else {}
        for place, row in index.items():
            if indexed.get(place) != row:
                self._put(place[0], row)
        for table, row_key in indexed:
            if (table, row_key) not in index:
                self._drop(table, row_key)
        incidents = sum(table is t.INCIDENT for table, _ in index)
        status, ended_at = ended or (ACTIVE, None)
        return ChangedInstance(instance, before, status, ended_at, incidents, body)

    def write(self, waits: dict[int, InstanceWaits]) -> None:
        """The rows of instances, with what they hold of subscriptions."""
        for key, changed in self._changed.items():
            self._write(key, changed, waits.pop(key, None))
        for key, others in waits.items():
            self._update(t.WAITS, (*others.columns(), key))

    def _write(self, key: int, changed: ChangedInstance, waits: InstanceWaits | None) -> None:
        instance, before, state, ended_at, incidents, body = changed
        if before is None:
            times = (self._started[key], ended_at)
            row = instance_row(instance, self._its.state.root_of(instance), state, times, incidents, body)
            if waits is not None:
                row = InstanceRow(*row[:FIRST], *waits.columns())
            self._put(t.INSTANCE, row)
            if ended_at is not None:
                self.ended.append(row)
            return
        columns: WaitColumns = before[FIRST:] if waits is None else waits.columns()
        if ended_at is not None:
            self._update(t.ENDED, (state, ended_at, incidents, body, *columns, key))
            self.ended.append(before._replace(state=state, ended_at=ended_at, incidents=incidents, body=body))
        elif columns[0] == before.wait_on:
            self._update(t.ADVANCED, (incidents, body, *columns[1:], key))
        else:
            self._update(t.MOVED, (incidents, body, *columns, key))

    def _update(self, update: NarrowUpdate, row: tuple[Any, ...]) -> None:
        self.update.setdefault(update, []).append(row)


_MESSAGE, _SUBSCRIPTION, _LOCK = 1, 2, 4
_CONCERNS: dict[type, int] = {
    **dict.fromkeys(
        (e.MessagePublished, e.MessageRefused, e.MessageDiscarded, e.MessageExpired, e.MessageHeld, e.MessageReleased),
        _MESSAGE,
    ),
    e.MessageAnswered: _MESSAGE,
    e.MessageCorrelated: _MESSAGE | _SUBSCRIPTION,
    e.CorrelationAcknowledged: _MESSAGE | _SUBSCRIPTION,
    e.CorrelationGivenBack: _MESSAGE | _SUBSCRIPTION,
    e.SubscriptionOpened: _SUBSCRIPTION,
    e.SubscriptionClosed: _SUBSCRIPTION,
    e.InstanceStarted: _MESSAGE | _LOCK,
    e.LockFreed: _LOCK,
}
"""What an event is about; events have no subclasses."""

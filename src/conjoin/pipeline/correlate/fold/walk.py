"""The walk: carries rows to the kernel one by one, key after key, and hands what became of them to a sink.

It decides nothing. It stands in for the process half: every delivered message is accepted at once. What it holds is
the state of one correlation key and the rows still without a final verdict, never a whole partition.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Protocol

from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation.events import (
    Event,
    MessageCorrelated,
    MessageExpired,
    MessagePublished,
    SubscriptionOpened,
    SubscriptionRefused,
)
from conjoin.kernel.correlation.expiry import expire
from conjoin.kernel.correlation.messages import Message, Subscription
from conjoin.kernel.correlation.publishing import publish
from conjoin.kernel.correlation.starting import end_instance
from conjoin.kernel.correlation.state import KeySpace, Lock
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.correlation.waiting import accept, close_subscription, open_subscription
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import Policies, Policy
from conjoin.pipeline.correlate.fold.rows import Rows
from conjoin.pipeline.correlate.shape import END, ID, LOCK, OPEN, PUBLISH, TABLE_OF

if TYPE_CHECKING:
    import pyarrow as pa

MANY = 20_000
"""So many rows at most are gathered before they are handed over."""

NO_ROW = -1

_FEW_TENANTS = 64
_WHILE_REMEMBERED = Policy()


class Sink(Protocol):
    """Where the walk puts what it knows. `message` is told of every message once, when nothing can change it."""

    base: int
    """`base | row` names a row of the current batch for as long as its message lives."""

    def message(
        self, message: Message, space: KeySpace, as_of: int, catalog: Catalog, other_tenants: tuple[KeySpace, ...]
    ) -> None: ...
    def open(self, space: KeySpace, it: Subscription, as_of: int) -> None: ...
    def lock(self, space: KeySpace, it: Lock) -> None: ...
    def id(self, space: KeySpace, it: Message, until_at: int) -> None: ...
    def faulty(self, rows: Rows, row: int, table: str) -> None: ...
    def dead(self, rows: Rows, row: int, table: str, reason: str, told: dict[str, Any]) -> None: ...
    def end_ignored(self) -> None: ...
    def finished(self) -> "Iterator[pa.RecordBatch]": ...


@dataclass(frozen=True, slots=True)
class FoldSetting:
    """What holds for all keys."""

    policies: Policies
    catalog: Catalog
    as_of: int
    since: int | None = None


class Walk:
    """Rows in, in order; what became of them to `sink`."""

    def __init__(self, setting: FoldSetting, sink: Sink, key_ended: Callable[[], None]) -> None:
        self.policies = setting.policies
        self.catalog = setting.catalog
        self.as_of = setting.as_of
        self.since = setting.since
        self.sink = sink
        self.key: str | None = None
        self.arrived: list[Message] = []
        """The messages of the current batch, for whoever keeps their rows."""
        self._key_ended = key_ended
        self._spaces: dict[str, KeySpace] = {}
        self._spare: dict[str, KeySpace] = {}
        self._closings: list[tuple[int, int, Subscription, KeySpace]] = []
        self._messages: dict[str, list[Message]] = {}
        self._unsettled = 0
        self._take = {
            PUBLISH: self._publish,
            OPEN: self._open,
            END: self._end,
            LOCK: self._lock,
            ID: self._remember,
        }
        self._positions: set[int] = set()
        self._count = 0

    def take(self, rows: Rows) -> "Iterator[pa.RecordBatch]":
        take, spaces, closings = self._take, self._spaces, self._closings
        kinds, instants, tenants = rows.kind, rows.at, rows.tenant
        ends = [*rows.starts[1:], len(kinds)]
        for start, end, key in zip(rows.starts, ends, rows.keys, strict=True):
            if key != self.key:
                yield from self.finish()
                self.key = key
            for row in range(start, end):
                kind, at = kinds[row], instants[row]
                if kind < 0:
                    self.sink.faulty(rows, row, TABLE_OF[-kind])
                else:
                    space = spaces.get(tenants[row]) or self._new_space(tenants[row])
                    if closings and closings[0][0] <= at:
                        self._close_until(at if kind != END else at - 1)
                    if space.deadlines and space.deadlines[0][0] <= at:
                        self._carry_out(space, expire(space, at, NEVER, self.catalog))
                    take[kind](rows, row, space, at)
        self._settle_early()

    def finish(self) -> "Iterator[pa.RecordBatch]":
        """The last row of the current key was taken."""
        if self._count > MANY:
            yield from self._finish_large_key()
        elif self.key is not None:
            self._finish_key()

    def _new_space(self, tenant_id: str) -> KeySpace:
        space = self._spare.pop(tenant_id, None)
        if space is None:
            space = KeySpace(tenant_id, "")
        space.clear(self.key or "")
        self._spaces[tenant_id] = space
        self._messages[tenant_id] = []
        return space

    def _carry_out(self, space: KeySpace, events: list[Event]) -> None:
        """Apply what was decided; the list grows while it is walked: one first-in-first-out queue."""
        for event in events:
            event.apply(space)
            if type(event) is MessageCorrelated:
                events += accept(space, event.subscription, event.message, event.at, self.catalog)

    def _close_until(self, at: int) -> None:
        closings = self._closings
        while closings and closings[0][0] <= at:
            closed_at, _, subscription, space = heappop(closings)
            if not subscription.closed:
                self._carry_out(space, close_subscription(space, subscription.key, closed_at))

    def _publish(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        plain, since = rows.plain[row], self.since
        if not plain:
            if self._is_dead(rows, row):
                return
            plain = rows.taken_by[row] is None and rows.kept[row] is None
        self._count = count = self._count + 1
        terms = rows.deadline[row], rows.policy[row]
        ids = rows.id[row] or "", rows.business[row] or ""
        message = Message(count, rows.name[row], at, *terms, *ids, self.sink.base | row)
        self._messages[space.tenant_id].append(message)
        self.arrived.append(message)
        if not plain:
            self._mark(message, rows, row)
            if since is not None and at <= since:
                self._carry_out(space, [MessagePublished(message, at)])
                return
        self._carry_out(space, publish(space, message, at, self.catalog))

    def _is_dead(self, rows: Rows, row: int) -> bool:
        """Is it no message that can be decided on? Then the sink is told why."""
        if rows.name[row] is None:
            self.sink.dead(rows, row, "messages", "missing_name", {"column": "name"})
        elif problem := rows.problem_of_variables(row):
            self.sink.dead(rows, row, "messages", problem, {"column": "variables"})
        elif rows.repeated[row] and not self._is_first(rows.position[row]):
            self.sink.dead(rows, row, "messages", "duplicate_position", {"column": "position"})
        else:
            return False
        return True

    def _mark(self, message: Message, rows: Rows, row: int) -> None:
        """With what a run before has said of it."""
        taken_by = rows.taken_by[row]
        if taken_by:
            message.marks = tuple(taken_by)
            message.taken_before = rows.taken_before(row)

    def _is_first(self, position: int) -> bool:
        """Of exact copies of a row, which stand side by side in one key, the first counts."""
        seen = position in self._positions
        self._positions.add(position)
        return not seen

    def _open(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        name, process_id = rows.name[row], rows.process[row]
        if name is None or process_id is None:
            column = "process_id" if process_id is None else "name"
            self.sink.dead(rows, row, "subscriptions", "missing_name", {"column": column})
            return
        kept = rows.kept[row] is not None
        closed_at = rows.until[row]
        if closed_at is not None and closed_at <= at:
            return
        self._count += 1
        subscription = Subscription(
            rows.id[row],
            self._count,
            name,
            process_id,
            rows.instance[row],
            rows.element[row],
            at,
            rows.interrupting[row],
            rows.business[row] or "",
            closed_at,
        )
        if kept and self.since is not None and at <= self.since:
            events: list[Event] = [SubscriptionOpened(subscription, at)]
        else:
            events = open_subscription(space, subscription, at, self.catalog)
        self._carry_out(space, events)
        if isinstance(events[0], SubscriptionRefused):
            refused = {"why": events[0].why, "holder": events[0].holder.key}
            self.sink.dead(rows, row, "subscriptions", "duplicate_subscription", refused)
        elif closed_at is not None and not subscription.closed:
            heappush(self._closings, (closed_at, self._count, subscription, space))

    def _end(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        events = end_instance(space, rows.process[row], None, at, self.catalog)
        self._carry_out(space, events)
        if not events:
            self.sink.end_ignored()

    def _lock(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        process_id = rows.process[row]
        lock = Lock(process_id, rows.instance[row], rows.until[row] or ALWAYS)
        space.locks[process_id] = lock

    def _remember(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        first = Message(
            0,
            rows.name[row],
            rows.kept[row] or ALWAYS,
            rows.until[row],
            _WHILE_REMEMBERED,
            rows.id[row],
            payload=NO_ROW,
        )
        topic = space.topics.get(first.name) or space.new_topic(first.name)
        topic.ids = {**(topic.ids or {}), first.message_id: first}

    def _settle_early(self) -> None:
        """Of a key that goes on in the next batch: let go what is final, whenever it has doubled."""
        if sum(map(len, self._messages.values())) < 2 * self._unsettled + 1_000:
            return
        self._unsettled = 0
        for tenant_id, messages in self._messages.items():
            going_on: list[Message] = []
            final: list[Message] = []
            for message in messages:
                (going_on if message.stored or _may_learn_more(message) else final).append(message)
            self._settle(final, self._spaces[tenant_id])
            self._messages[tenant_id] = going_on
            self._unsettled += len(going_on)

    def _settle(self, messages: list[Message], space: KeySpace) -> None:
        others = tuple(self._spaces.values()) if len(self._spaces) > 1 else ()
        for message in messages:
            self.sink.message(message, space, self.as_of, self.catalog, others)
            message.payload = NO_ROW
            message.targets = ()
            message.ended = None

    def _finish_key(self) -> None:
        self._pass_time()
        for tenant_id, space in self._spaces.items():
            self._settle(self._messages[tenant_id], space)
            for _ in self._keep(space):
                pass
        self._forget_key()

    def _finish_large_key(self) -> "Iterator[pa.RecordBatch]":
        """The same, slice by slice, so that the rows of a million messages are never held at once."""
        self._pass_time()
        for tenant_id, space in self._spaces.items():
            messages = self._messages[tenant_id]
            while messages:
                self._settle(messages[-MANY:], space)
                del messages[-MANY:]
                yield from self.sink.finished()
            for number, _ in enumerate(self._keep(space)):
                if number % MANY == 0:
                    yield from self.sink.finished()
        self._forget_key()

    def _pass_time(self) -> None:
        """Nothing more comes for this key: what falls due up to `as_of` still happens."""
        as_of = self.as_of
        if self._closings:
            self._close_until(as_of)
        for tenant_id, space in self._spaces.items():
            for message in self._messages[tenant_id]:
                if message.stored and not message.marks and message.deadline <= as_of:
                    self._carry_out(space, expire(space, as_of, NEVER, self.catalog))
                    break

    def _forget_key(self) -> None:
        if len(self._spare) < _FEW_TENANTS and self._count <= MANY:
            self._spare.update(self._spaces)
        self._spaces.clear()
        self._closings.clear()
        self._messages.clear()
        self.arrived.clear()
        self._positions.clear()
        self._count = 0
        self._unsettled = 0
        self.key = None
        self._key_ended()

    def _keep(self, space: KeySpace) -> Iterator[None]:
        """What the next run needs: open subscriptions, locks and remembered ids, one after the other."""
        for subscription in space.subscriptions.values():
            self.sink.open(space, subscription, self.as_of)
            yield
        for lock in space.locks.values():
            self.sink.lock(space, lock)
            yield
        for topic in space.topics.values():
            for message in topic.ids.values() if topic.ids else ():
                until = remembered_until(message)
                if until > self.as_of:
                    self.sink.id(space, message, until)
                    yield


def _may_learn_more(message: Message) -> bool:
    """Expired, and how late the next subscription comes is not known yet."""
    ended = message.ended
    return isinstance(ended, MessageExpired) and bool(ended.reason) and message.late_subscription is None

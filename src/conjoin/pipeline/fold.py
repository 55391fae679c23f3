"""The fold: carries the rows of one partition to the kernel, key after key, and collects what became of them.

It decides nothing. It stands in for the process half: every delivered message is accepted at once. What it holds is
the state of one correlation key and the rows still without a final verdict, never a whole partition.
"""

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from heapq import heappop, heappush
from typing import Any

import msgspec
import pyarrow as pa

from conjoin.kernel.catalog import Catalog, StartSubscription
from conjoin.kernel.correlation.apply import APPLY
from conjoin.kernel.correlation.events import (
    Event,
    MessageCorrelated,
    MessageExpired,
    MessagePublished,
    SubscriptionOpened,
    SubscriptionRefused,
)
from conjoin.kernel.correlation.expiry import expire
from conjoin.kernel.correlation.messages import Message, Subscription, deadline_of
from conjoin.kernel.correlation.publishing import publish
from conjoin.kernel.correlation.starting import end_instance
from conjoin.kernel.correlation.state import KeySpace, Lock
from conjoin.kernel.correlation.uniqueness import remembered_until
from conjoin.kernel.correlation.waiting import accept, close_subscription, open_subscription
from conjoin.kernel.instants import ALWAYS, NEVER
from conjoin.kernel.policies import Policies, Policy
from conjoin.pipeline.outputs import Outputs
from conjoin.pipeline.rows import Rows
from conjoin.pipeline.shape import END, ID, LOCK, OPEN, PUBLISH, TABLE_OF

DEFAULT_TENANT = "<default>"
MOST_VARIABLES_BYTES = 4 * 1024 * 1024

MANY = 20_000
"""So many rows at most are gathered before they are handed over."""

_FEW_TENANTS = 64

_read_object = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_WHILE_REMEMBERED = Policy()


class Control(msgspec.Struct):
    """What every partition must know, sent along with its first row."""

    as_of: int
    starts: list[dict[str, Any]] = []


class Fold:
    """One partition: `rows` in, finished rows in `outputs` out."""

    def __init__(self, policies: Policies, since: int | None, outputs: Outputs) -> None:
        self.policies = policies
        self.since = since
        self.outputs = outputs
        self.catalog = Catalog()
        self.as_of = NEVER
        self.key: str | None = None
        self.spaces: dict[str, KeySpace] = {}
        self.spare: dict[str, KeySpace] = {}
        self.closings: list[tuple[int, int, Subscription, KeySpace]] = []
        self.messages: dict[str, list[Message]] = {}
        self.unsettled = 0
        self.arrived: list[Message] = []
        self._take = {
            PUBLISH: self._publish,
            OPEN: self._open,
            END: self._end,
            LOCK: self._lock,
            ID: self._remember,
        }
        self.started: dict[str, int] = {}
        self.positions: set[int] = set()
        self.count = 0

    def take(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for number, batch in enumerate(batches):
            if number == 0:
                self._read_control(batch)
            if batch.num_rows:
                yield from self._take_batch(Rows(batch, DEFAULT_TENANT))
                yield from self.outputs.finished()
                self.outputs.end_batch(self.arrived)
        yield from self._finish_large_key()
        yield from self.outputs.finished()

    def _read_control(self, batch: pa.RecordBatch) -> None:
        control = msgspec.json.decode(batch.column("control")[0].as_py(), type=Control)
        self.as_of = control.as_of
        starts = [_start_of(row) for row in control.starts]
        self.catalog = Catalog(starts, self.policies, self._name_instance)

    def _take_batch(self, rows: Rows) -> Iterator[pa.RecordBatch]:
        self.outputs.begin_batch(rows.batch)
        take, as_of = self._take, self.as_of
        kinds, instants, tenants = rows.kind, rows.at, rows.tenant
        ends = [*rows.starts[1:], rows.batch.num_rows]
        for start, end, key in zip(rows.starts, ends, rows.keys, strict=True):
            if key != self.key:
                if self.count > MANY:
                    yield from self._finish_large_key()
                else:
                    self._finish_key()
                self.key = key
            for row in range(start, end):
                kind, at = kinds[row], instants[row]
                if kind < 0:
                    self.outputs.faulty(rows, row, TABLE_OF[-kind])
                elif at > as_of:
                    self.outputs.later(rows, row, TABLE_OF[kind])
                else:
                    space = self.spaces.get(tenants[row]) or self._new_space(tenants[row])
                    if self.closings:
                        self._close_until(at if kind != END else at - 1)
                    if space.deadlines and space.deadlines[0][0] <= at:
                        self._carry_out(space, expire(space, at, NEVER, self.catalog))
                    take[kind](rows, row, space, at)
        self._settle_early()

    def _new_space(self, tenant_id: str) -> KeySpace:
        space = self.spare.pop(tenant_id, None)
        if space is None:
            space = KeySpace(tenant_id, "")
        space.clear(self.key or "")
        self.spaces[tenant_id] = space
        self.messages[tenant_id] = []
        return space

    def _carry_out(self, space: KeySpace, events: list[Event]) -> None:
        """Apply what was decided; the list grows while it is walked: one first-in-first-out queue."""
        for event in events:
            APPLY[type(event)](space, event)
            if type(event) is MessageCorrelated:
                events += accept(space, event.subscription, event.message, event.at, self.catalog)

    def _close_until(self, at: int) -> None:
        closings = self.closings
        while closings and closings[0][0] <= at:
            closed_at, _, subscription, space = heappop(closings)
            if not subscription.closed:
                self._carry_out(space, close_subscription(space, subscription.key, closed_at))

    def _publish(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        name = rows.name[row]
        if name is None:
            self.outputs.dead(rows, row, "messages", "missing_name", {"column": "name"})
            return
        variables = rows.variables[row]
        if variables is not None:
            problem = _problem_of_variables(variables)
            if problem:
                self.outputs.dead(rows, row, "messages", problem, {"column": "variables"})
                return
        taken_by = rows.taken_by[row]
        kept = taken_by is not None or rows.kept[row] is not None
        if self.since is not None and at < self.since and not kept:
            self.outputs.dead(rows, row, "messages", "late", {})
            return
        if rows.repeated[row] and not self._is_first(rows.position[row]):
            self.outputs.dead(rows, row, "messages", "duplicate_position", {"column": "position"})
            return
        policy = self.policies.of(name)
        deadline = deadline_of(at, rows.ttl[row], policy)
        self.count = count = self.count + 1
        ids = rows.id[row] or "", rows.business[row] or ""
        message = Message(count, name, at, deadline, policy, *ids, self.outputs.base | row)
        self.messages[space.tenant_id].append(message)
        self.arrived.append(message)
        if taken_by:
            message.marks = tuple(taken_by)
            message.taken_before = rows.taken_before(row)
        if kept and self.since is not None and at <= self.since:
            self._carry_out(space, [MessagePublished(message, at)])
        else:
            self._carry_out(space, publish(space, message, at, self.catalog))

    def _is_first(self, position: int) -> bool:
        """Of exact copies of a row, which stand side by side in one key, the first counts."""
        seen = position in self.positions
        self.positions.add(position)
        return not seen

    def _open(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        name, process_id = rows.name[row], rows.process[row]
        if name is None or process_id is None:
            column = "process_id" if process_id is None else "name"
            self.outputs.dead(rows, row, "subscriptions", "missing_name", {"column": column})
            return
        kept = rows.kept[row] is not None
        if self.since is not None and at < self.since and not kept:
            self.outputs.dead(rows, row, "subscriptions", "late", {})
            return
        closed_at = rows.until[row]
        if closed_at is not None and closed_at <= at:
            return
        self.count += 1
        subscription = Subscription(
            rows.id[row],
            self.count,
            name,
            process_id,
            rows.instance[row],
            rows.element[row],
            at,
            rows.interrupting[row] is not False,
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
            self.outputs.dead(rows, row, "subscriptions", "duplicate_subscription", refused)
        elif closed_at is not None and not subscription.closed:
            heappush(self.closings, (closed_at, self.count, subscription, space))

    def _name_instance(self, tenant_id: str, key: str, message: Message, start: StartSubscription) -> str:
        """After process, tenant, key and message; of rows equal in everything, the second gets a number."""
        told = (start.process_id, tenant_id, key, message.name, message.published_at)
        whole = repr((*told, message.message_id, *self.outputs.identity(message)))
        name = "i-" + blake2b(whole.encode(), digest_size=8).hexdigest()
        self.started[name] = count = self.started.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"

    def _end(self, rows: Rows, row: int, space: KeySpace, at: int) -> None:
        if self.since is not None and at < self.since:
            self.outputs.dead(rows, row, "ends", "late", {})
            return
        events = end_instance(space, rows.process[row], None, at, self.catalog)
        self._carry_out(space, events)
        if not events:
            self.outputs.end_ignored()

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
            payload=self.outputs.NO_ROW,
        )
        topic = space.topics.get(first.name) or space.new_topic(first.name)
        topic.ids = {**(topic.ids or {}), first.message_id: first}

    def _settle_early(self) -> None:
        """Of a key that goes on in the next batch: let go what is final, whenever it has doubled."""
        if sum(map(len, self.messages.values())) < 2 * self.unsettled + 1_000:
            return
        self.unsettled = 0
        for tenant_id, messages in self.messages.items():
            going_on = [m for m in messages if m.stored or _may_learn_more(m)]
            final = [m for m in messages if not (m.stored or _may_learn_more(m))]
            self._settle(final, self.spaces[tenant_id])
            self.messages[tenant_id] = going_on
            self.unsettled += len(going_on)

    def _settle(self, messages: list[Message], space: KeySpace) -> None:
        others = tuple(self.spaces.values()) if len(self.spaces) > 1 else ()
        for message in messages:
            self.outputs.message(message, space, self.as_of, self.catalog, others)

    def _finish_key(self) -> None:
        if self.key is None:
            return
        self._pass_time()
        for tenant_id, space in self.spaces.items():
            self._settle(self.messages[tenant_id], space)
            for _ in self._keep(space):
                pass
        self._forget_key()

    def _finish_large_key(self) -> Iterator[pa.RecordBatch]:
        """The same, slice by slice, so that the rows of a million messages are never held at once."""
        self._pass_time()
        for tenant_id, space in self.spaces.items():
            messages = self.messages[tenant_id]
            while messages:
                self._settle(messages[-MANY:], space)
                del messages[-MANY:]
                yield from self.outputs.finished()
            for number, _ in enumerate(self._keep(space)):
                if number % MANY == 0:
                    yield from self.outputs.finished()
        self._forget_key()

    def _pass_time(self) -> None:
        """Nothing more comes for this key: what falls due up to `as_of` still happens."""
        as_of = self.as_of
        if self.closings:
            self._close_until(as_of)
        for tenant_id, space in self.spaces.items():
            for message in self.messages[tenant_id]:
                if message.stored and not message.marks and message.deadline <= as_of:
                    self._carry_out(space, expire(space, as_of, NEVER, self.catalog))
                    break

    def _forget_key(self) -> None:
        if len(self.spare) < _FEW_TENANTS and self.count <= MANY:
            self.spare.update(self.spaces)
        self.spaces.clear()
        self.closings.clear()
        self.messages.clear()
        self.arrived.clear()
        self.started.clear()
        self.positions.clear()
        self.count = 0
        self.unsettled = 0
        self.key = None

    def _keep(self, space: KeySpace) -> Iterator[None]:
        """What the next run needs: open subscriptions, locks and remembered ids, one after the other."""
        for subscription in space.subscriptions.values():
            self.outputs.open(space, subscription, self.as_of)
            yield
        for lock in space.locks.values():
            self.outputs.lock(space, lock)
            yield
        for topic in space.topics.values():
            for message in topic.ids.values() if topic.ids else ():
                until = remembered_until(message)
                if until > self.as_of:
                    self.outputs.id(space, message, until)
                    yield


def _may_learn_more(message: Message) -> bool:
    """Expired, and how late the next subscription comes is not known yet."""
    ended = message.ended
    return isinstance(ended, MessageExpired) and bool(ended.reason) and message.late_subscription is None


def _problem_of_variables(variables: str) -> str | None:
    if len(variables) > MOST_VARIABLES_BYTES:
        return "too_large"
    try:
        _read_object(variables)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return "bad_variables"
    return None


def _start_of(row: dict[str, Any]) -> StartSubscription:
    from_at, until_at = row.get("at"), row.get("until")
    return StartSubscription(
        row["process"],
        row["name"],
        row.get("tenant") or DEFAULT_TENANT,
        row.get("element"),
        ALWAYS if from_at is None else from_at,
        NEVER if until_at is None else until_at,
    )

"""The fold of one run: requests become commands with a key and a time, are carried out, and become rows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.runtime.batches import Batch, Done, Origin, Reply
from conjoin.runtime.business_ids import BusinessIds
from conjoin.runtime.changes import KeyChanges
from conjoin.runtime.encoding.events import write_events
from conjoin.runtime.encoding.json_text import json_text, read_json
from conjoin.runtime.encoding.orders import read_order, written_order
from conjoin.runtime.inbox.fold import InboxFold
from conjoin.runtime.inbox.requests import InboxRequest
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.instance_changes import InstanceChanges
from conjoin.runtime.jobs import activated_job
from conjoin.runtime.log import block_of
from conjoin.runtime.messages import NewMessage, accepted
from conjoin.runtime.stored_catalog import CatalogView, inbox_version
from conjoin.runtime.sweeps import Sweep, due_orders
from conjoin.runtime.working_set import WorkingSet
from conjoin.store import tables as t
from conjoin.store.port import Changes, Head
from conjoin.store.rows import DeadLetterRow, LogRow, OutboxRow, PositionRow, ReceivedRow

_REPEATED = object()
"""In place of a request that an earlier run has carried out."""


class Fold:
    def __init__(self, its: WorkingSet, view: CatalogView, now: int) -> None:
        self._its = its
        self._view = view
        self._now = now
        self._marks: list[tuple[list[Any], int, int]] = []
        """Each request as it was written, where the keys stood, and where its orders begin in the journal."""
        self._received: dict[int, int] = {}
        self._reached: dict[str, int] = {}
        """How far each part of the source has been read when this run is over."""
        self._dead_letters: list[DeadLetterRow] = []
        self._inbox: InboxFold | None = None
        self._requests: Sequence[Any] = ()
        """Those of the batch that no earlier run has carried out."""
        self.replies: list[Reply] = []

    def load(self, batch: Batch) -> None:
        """What the messages of the batch touch, in bulk; the rest is fetched when its turn comes."""
        self._requests = batch.requests if batch.origin is None else self._not_repeated(batch.origin, batch.requests)
        keys: dict[str, list[str]] = {}
        for request in self._requests:
            if type(request) is NewMessage:
                keys.setdefault(request.tenant_id, []).append(request.key)
        for tenant_id, some in keys.items():
            self._its.fetch_spaces(tenant_id, some)
        if self._its.business_ids is not None:
            self._look_up_ids(self._its.business_ids, self._requests)

    def _look_up_ids(self, ids: BusinessIds, requests: Sequence[Any]) -> None:
        """Who holds those that are brought, in bulk; the rest is looked up when its turn comes."""
        brought: dict[str, list[str]] = {}
        for request in requests:
            if isinstance(request, (NewMessage, c.CreateInstance)) and request.business_id:
                brought.setdefault(request.tenant_id, []).append(request.business_id)
        for tenant_id, some in brought.items():
            ids.look_up(tenant_id, some)

    def _not_repeated(self, origin: Origin, requests: Sequence[Any]) -> list[Any]:
        """Places grow, so what is not beyond the last one of its part was taken before."""
        parts = sorted({part for part, _ in origin.places})
        taken = {part: int(place) for part, place in self._its.snapshot.positions(origin.source, parts).items()}
        fresh = []
        for request, (part, place) in zip(requests, origin.places, strict=True):
            if place > taken.get(part, -1):
                taken[part] = self._reached[part] = place
                fresh.append(request)
            else:
                fresh.append(_REPEATED)
        return fresh

    def carry_out(self, batch: Batch) -> None:
        self._its.keys.follow(batch.counter)
        if batch.deliveries:
            self._take(batch.deliveries)
        for request in self._requests:
            if request is _REPEATED:
                self.replies.append(Reply(repeated=True))
            elif type(request) is DeadLetter:
                self.replies.append(self._dead_letter(request))
            elif type(request) is Sweep:
                orders, swept = due_orders(self._its, request, self._now)
                for order in orders:
                    self._order(order, written_order(order))
                self.replies.append(Reply(swept=swept))
            elif type(request) is NewMessage:
                self.replies.append(self._message(request))
            elif isinstance(request, InboxRequest):
                self.replies.append(self._in_inbox(request))
            else:
                self.replies.append(self._command(request))

    def _take(self, deliveries: Sequence[tuple[int, OutboxRow]]) -> None:
        """What other shards have sent, each once, in the order of its sender."""
        taken = dict(self._its.snapshot.received())
        for sender, row in deliveries:
            if row.seq > taken.get(sender, 0):
                taken[sender] = self._received[sender] = row.seq
                self._its.keys.follow(row.counter)
                said = read_json(row.command)
                order = read_order(said)
                _stamp(order, self._now)
                self._order(order, said)

    def _message(self, new: NewMessage) -> Reply:
        its = self._its
        policies = self._view.inbox_policies if new.from_inbox else its.catalog.policies
        message = accepted(new, its.keys.take(), self._now, policies)
        message.sync = new.sync
        if new.from_inbox:
            its.fetch_spaces(new.tenant_id, [new.key])
            its.spaces.by_place[new.tenant_id, new.key].versions[message.key] = inbox_version(self._view.version)
        kind = correlation.CorrelateMessage if new.sync else correlation.PublishMessage
        order = c.ForKey(new.tenant_id, new.key, kind(message, self._now))
        return Reply(self._order(order, written_order(new), before=message.key), message.key, awaits_answer=new.sync)

    def _dead_letter(self, letter: DeadLetter) -> Reply:
        """Nothing is decided of it: it is kept, with a key of its own."""
        key = self._its.keys.take()
        self._dead_letters.append(DeadLetterRow(key, *letter, self._now))
        return Reply(key=key)

    def _in_inbox(self, request: InboxRequest) -> Reply:
        if self._inbox is None:
            self._inbox = InboxFold(self._its, self._view, self._now, self._message, self._dead_letter)
        return self._inbox.carry_out(request)

    def _command(self, request: Any) -> Reply:
        _stamp(request, self._now)
        if type(request) is c.BroadcastSignal:
            return self._signal(request)
        decided = self._order(request, written_order(request))
        if type(request) is c.ActivateJobs:
            activated = [event for event in decided if isinstance(event, pe.JobActivated)]
            return Reply(decided, jobs=[activated_job(self._its.state, event) for event in activated])
        return Reply(decided)

    def _signal(self, request: c.BroadcastSignal) -> Reply:
        """It concerns every shard, so it goes the way of the orders that one shard gives to others."""
        its = self._its
        self._marks.append((written_order(request), its.keys.next, len(its.journal)))
        its.hand_on(request)
        its.drain()
        return Reply()

    def _order(self, order: Any, said: list[Any], before: int = 0) -> Sequence[Any]:
        its = self._its
        self._marks.append((said, before or its.keys.next, len(its.journal)))
        decided: Sequence[Any] = its.carry_out(order)
        its.drain()
        return decided

    def changes(self, batch: Batch) -> Changes | None:
        """The rows of this commit; None when there is nothing to write."""
        its = self._its
        if not self._has_changes(batch) and (batch.requests or not batch.taken):
            return None
        keys = KeyChanges(its, self._now, self._view.version)
        instances = InstanceChanges(its)
        block = block_of(self._noted(keys, instances))
        keys.finish()
        instances.finish()
        head = its.snapshot.head
        sent = self._outbox(head.sent)
        changes = Changes(Head(head.version + 1, its.keys.counter, self._now, head.sent + len(sent)))
        changes.put = {**keys.put, **instances.put}
        changes.drop = {**keys.drop, **instances.drop}
        changes.put[t.LOG] = [LogRow(head.version + 1, self._view.version, self._now, block)]
        if sent:
            changes.put[t.OUTBOX] = sent
        if self._received:
            changes.put[t.RECEIVED] = [ReceivedRow(*taken) for taken in self._received.items()]
        if batch.taken:
            changes.drop[t.OUTBOX] = [(seq,) for seq in batch.taken]
        positions = list(batch.positions)
        if batch.origin is not None:
            source = batch.origin.source
            positions += [PositionRow(source, part, str(place)) for part, place in self._reached.items()]
        if self._inbox is not None:
            positions += self._inbox.ledger.positions
            changes.put |= self._inbox.ledger.puts()
            changes.drop |= self._inbox.ledger.drops()
        if positions:
            changes.put[t.POSITION] = positions
        if self._dead_letters:
            changes.put[t.DEAD_LETTER] = self._dead_letters
        return changes

    def _has_changes(self, batch: Batch) -> bool:
        has_inbox_changes = self._inbox is not None and not self._inbox.ledger.is_empty
        return bool(self._marks or batch.positions or self._reached or self._dead_letters or has_inbox_changes)

    def _outbox(self, sent: int) -> list[OutboxRow]:
        counter = self._its.keys.counter
        return [
            OutboxRow(sent + number, receiver, counter, json_text(written_order(order)))
            for number, (receiver, order) in enumerate(self._its.outbox, 1)
        ]

    def _noted(self, keys: KeyChanges, instances: InstanceChanges) -> list[Any]:
        """One walk over everything that was decided: what changed is noted, and the entries of the log are made."""
        journal = self._its.journal
        entries = []
        for (said, before, begin), (_, _, end) in pairwise([*self._marks, ([], 0, len(journal))]):
            events: list[tuple[Any, ...]] = []
            for order, decided in journal[begin:end]:
                write_events(decided, events)
                if type(order) is c.ForKey:
                    keys.note(order, decided)
                else:
                    instances.note(order, decided)
            entries.append((said, self._now, before, events))
        return entries

    def done(self, changes: Changes | None) -> Done:
        head = self._its.snapshot.head if changes is None else changes.head
        receivers = {receiver for receiver, _ in self._its.outbox}
        written = {} if changes is None else changes.put
        rows = [written.get(table, ()) for table in (t.MESSAGE, t.JOB, t.INSTANCE)]
        # The two know each other: whatever the run has loaded would wait for the garbage collector.
        self._inbox = None
        return Done(self.replies, head, self._its.answers, receivers, changes is not None, *rows)


def _stamp(order: Any, now: int) -> None:
    """The time of a command is that of the shard that carries it out."""
    if type(order) is c.ForKey:
        order.command.at = now
    else:
        order.at = now

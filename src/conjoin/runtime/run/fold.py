"""The fold of one run: requests become commands with a key and a time, are carried out, and become rows."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.runtime.client_api.jobs import activated_job
from conjoin.runtime.client_api.messages import NewMessage, accepted
from conjoin.runtime.codec.events import write_events
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import read_order, written_order
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.stored_catalog import CatalogView, inbox_version
from conjoin.runtime.inbox.on_shard.fold import InboxFold
from conjoin.runtime.inbox.requests import InboxRequest
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run import travels
from conjoin.runtime.run.batches import PROBE, Batch, Commit, Origin, Reply
from conjoin.runtime.run.changes import KeyChanges
from conjoin.runtime.run.due import Kind, Sweep, due_orders
from conjoin.runtime.run.instance_changes import InstanceChanges
from conjoin.runtime.run.isolation import Blame
from conjoin.runtime.run.log import block_of
from conjoin.runtime.run.set_aside import NO_EFFECT, UNMOVED, SetAside, SetAsideFold, stamp
from conjoin.runtime.run.set_aside import REQUESTS as SET_ASIDE_REQUESTS
from conjoin.runtime.run.travels import FEWEST_STEPS, left_of, order_text, shares, written_mail
from conjoin.runtime.run.working_set.working_set import WorkingSet
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
        self._aside: SetAsideFold | None = None
        self._requests: Sequence[Any] = ()
        """Those of the batch that no earlier run has carried out."""
        self.replies: list[Reply] = []
        self._begun: list[Any] = []
        """The deliveries and requests that were begun."""
        self._parts: list[int] = []
        """Keys of what has fallen due and was begun."""
        self._swept: list[tuple[Kind, int]] = []
        self._is_carrying_out = False
        self._is_probed = False
        self._decided: Sequence[Any] = ()
        self._left = travels.MOST
        """How far what is carried out now may still go."""
        self._sent: list[int] = []
        """The same for each order in the outbox."""
        self._sent_by_mail = 0

    @property
    def culprit(self) -> Blame:
        """Which item a failure of this run belongs to: the one that was being carried out, or the only one."""
        parts = [*self._parts, *(self._inbox.tried if self._inbox is not None else ())]
        is_known, is_part_known = (self._is_carrying_out or len(its) == 1 for its in (self._begun, parts))
        item = self._begun[-1] if self._begun and is_known else None
        return Blame(item, parts[-1] if parts and item is not None and is_part_known else 0)

    def load(self, batch: Batch) -> None:
        """What the messages of the batch touch, in bulk; the rest is fetched when its turn comes."""
        self._requests = batch.requests if batch.origin is None else self._not_repeated(batch.origin, batch.requests)
        published: dict[str, list[tuple[str, str]]] = {}
        for request in self._requests:
            if type(request) is NewMessage:
                published.setdefault(request.tenant_id, []).append((request.key, request.name))
        for tenant_id, some in published.items():
            self._its.fetch_spaces(tenant_id, (key for key, _ in some))
            self._its.fetch_receivers(tenant_id, some)
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
        self._is_carrying_out = True
        self._its.keys.follow(batch.counter)
        if batch.deliveries:
            self._take(batch.deliveries)
        for request in self._requests:
            self._begun.append(request)
            self._parts.clear()
            if request is _REPEATED:
                self.replies.append(Reply(repeated=True))
            elif type(request) is DeadLetter:
                self.replies.append(self._dead_letter(request))
            elif type(request) is Sweep:
                self.replies.append(self._sweep(request))
            elif type(request) is NewMessage:
                self.replies.append(self._message(request))
            elif request is PROBE:
                self._is_probed = True
                self.replies.append(Reply())
            elif type(request) in SET_ASIDE_REQUESTS:
                self.replies.append(self._of_set_aside(request))
            elif isinstance(request, InboxRequest):
                self.replies.append(self._in_inbox(request))
            else:
                self.replies.append(self._command(request))
        self._is_carrying_out = False

    def _sweep(self, sweep: Sweep) -> Reply:
        orders, swept = due_orders(self._its, sweep, self._now)
        for key, order in orders:
            self._parts.append(key)
            self._order(order, written_order(order))
            if sweep.kind in UNMOVED:
                self._swept.append((sweep.kind, key))
        return Reply(swept=swept)

    def _set_aside_unmoved(self, instances: InstanceChanges) -> None:
        """A row that is due, and that nothing has come of, would be swept for ever, before all others."""
        moved = instances.moved() if self._swept else {}
        for kind, key in self._swept:
            table, name = UNMOVED[kind]
            if key not in moved[table]:
                self._of_set_aside(SetAside(name, key, NO_EFFECT, may_pass=False))

    def _take(self, deliveries: Sequence[tuple[int, OutboxRow]]) -> None:
        """What other shards have sent, each once, in the order of its sender."""
        taken = dict(self._its.snapshot.received())
        for delivery in deliveries:
            sender, row = delivery
            self._begun.append(delivery)
            if row.seq > taken.get(sender, 0):
                taken[sender] = self._received[sender] = row.seq
                self._its.keys.follow(row.counter)
                self._left = left_of(row.command)
                self._its.most_steps = max(self._left, FEWEST_STEPS)
                said = read_json(order_text(row.command))
                order = read_order(said)
                stamp(order, self._now)
                self._order(order, said)
        self._left = self._its.most_steps = travels.MOST
        self._sent_by_mail = len(self._its.outbox)

    def _message(self, new: NewMessage) -> Reply:
        its = self._its
        policies = self._view.inbox_policies if new.from_inbox else its.catalog.policies
        message = accepted(new, its.keys.take(), self._now, policies)
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

    def _of_set_aside(self, request: Any) -> Reply:
        if self._aside is None:
            self._aside = SetAsideFold(self._its, self._now, self._order, self._received)
        return self._aside.carry_out(request)

    def _command(self, request: Any) -> Reply:
        stamp(request, self._now)
        if type(request) is c.BroadcastSignal:
            return self._signal(request)
        if type(request) is c.ActivateJobs:
            self._its.fetch_ready(request)
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
        self._note_sent()
        return Reply()

    def _order(self, order: Any, said: list[Any], before: int = 0) -> Sequence[Any]:
        its = self._its
        self._marks.append((said, before or its.keys.next, len(its.journal)))
        begin = len(its.journal)
        decided: Sequence[Any] = its.carry_out(order)
        its.drain()
        if len(its.outbox) > len(self._sent):
            self._note_sent(len(its.journal) - begin)
        return decided

    def _note_sent(self, steps: int = 0) -> None:
        fresh = [order for _, order in self._its.outbox[len(self._sent) :]]
        self._sent += shares(self._left, fresh, self._its.shard_count, steps)

    def changes(self, batch: Batch) -> Changes | None:
        """The rows of this commit; None when there is nothing to write."""
        its = self._its
        if not self._has_changes(batch) and (batch.requests or not batch.taken):
            return None
        keys = KeyChanges(its, self._now, self._view.version)
        instances = InstanceChanges(its)
        entries = self._noted(keys, instances)
        # Before anything else that is large is written: an instance may have become too large.
        instances.finish()
        block = block_of(entries)
        keys.finish()
        self._set_aside_unmoved(instances)
        self._decided = keys.decided
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
        if self._aside is not None:
            changes.put[t.SET_ASIDE] = list(self._aside.put.values())
            changes.drop[t.SET_ASIDE] = list(self._aside.drop)
        if self._dead_letters:
            changes.put[t.DEAD_LETTER] = self._dead_letters
        return changes

    def _has_changes(self, batch: Batch) -> bool:
        has_inbox_changes = self._inbox is not None and not self._inbox.ledger.is_empty
        has_set_aside = self._aside is not None and bool(self._aside.put or self._aside.drop)
        others = (self._is_probed, batch.positions, self._received, self._reached, self._dead_letters)
        return bool(self._marks) or any(others) or has_inbox_changes or has_set_aside

    def _outbox(self, sent: int) -> list[OutboxRow]:
        counter = self._its.keys.counter
        return [
            OutboxRow(sent + number, receiver, counter, written_mail(order, left))
            for number, ((receiver, order), left) in enumerate(zip(self._its.outbox, self._sent, strict=True), 1)
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

    def done(self, changes: Changes | None) -> Commit:
        head = self._its.snapshot.head if changes is None else changes.head
        receivers = {receiver for receiver, _ in self._its.outbox}
        asked = {receiver for receiver, _ in self._its.outbox[self._sent_by_mail :]}
        written = {} if changes is None else changes.put
        rows = (written.get(t.MESSAGE, ()), written.get(t.JOB, ()), written.get(t.INSTANCE, ()))
        # The two know each other: whatever the run has loaded would wait for the garbage collector.
        self._inbox = self._aside = None
        return Commit(
            self.replies, head, self._its.answers, receivers, asked, changes is not None, *rows, self._decided
        )

"""The fold of one run: requests become commands with a key and a time, are carried out, and become rows."""

from collections.abc import Sequence
from typing import cast

from conjoin.kernel.coupling import Order
from conjoin.kernel.process import commands as c
from conjoin.runtime.client_api.jobs import activated_jobs
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.codec.json_text import read_json
from conjoin.runtime.codec.orders import Request, read_order, stamped, written_order
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.inbox.on_shard.fold import InboxFold
from conjoin.runtime.inbox.requests import InboxRequest
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run.batches import PROBE, Batch, Commit, Mail, Origin, Reply, place_of_row, whole_source
from conjoin.runtime.run.dead_letter_orders import DeadLetterFold, EndDeadLetter
from conjoin.runtime.run.due import Kind, Sweep, due_orders
from conjoin.runtime.run.isolation import Blame
from conjoin.runtime.run.limits import MOST, left_of, order_text
from conjoin.runtime.run.log import block_of
from conjoin.runtime.run.noted_changes import NotedChanges
from conjoin.runtime.run.set_aside import NO_EFFECT, UNMOVED, SetAside, SetAsideFold, SetAsideRequest
from conjoin.runtime.run.touched import read_mail, touched_by
from conjoin.runtime.run.working_set.working_set import Execution, WorkingSet
from conjoin.store import tables as t
from conjoin.store.port import Changes, Head
from conjoin.store.rows import InstanceRow, LogRow, MessageRow, PositionRow, ReceivedRow

_REPEATED = object()
"""In place of a request that an earlier run has carried out."""


class Fold:
    def __init__(self, its: WorkingSet, view: CatalogView, now: int) -> None:
        self._noted = NotedChanges(its, now, view.version)
        self._execution = Execution(its, view, now, self._noted.note)
        self._its = its
        self._view = view
        self._now = now
        self._received: dict[int, int] = {}
        self._reached: dict[str, int] = {}
        """How far each part of the source has been read when this run is over."""
        self._inbox: InboxFold | None = None
        self._aside: SetAsideFold | None = None
        self._letters = DeadLetterFold(self._execution)
        self._requests: Sequence[object] = ()
        """Those of the batch, without those that an earlier run has carried out."""
        self._mail: list[Request | None] = []
        self.replies: list[Reply] = []
        self._begun: list[object] = []
        """The deliveries and requests that were begun."""
        self._parts: list[int] = []
        """Keys of what has fallen due and was begun."""
        self._swept: list[tuple[Kind, int]] = []
        self._is_carrying_out = False
        self._is_probed = False
        self._decided: Sequence[MessageRow] = ()
        self._ended: Sequence[InstanceRow] = ()
        self._sent_by_mail = 0

    @property
    def culprit(self) -> Blame:
        """Which item a failure of this run belongs to: the one that was being carried out, or the only one."""
        parts = [*self._parts, *(self._inbox.tried if self._inbox is not None else ())]
        is_known = self._is_carrying_out or len(self._begun) == 1
        item = self._begun[-1] if self._begun and is_known else None
        is_part_known = self._is_carrying_out or len(parts) == 1
        return Blame(item, parts[-1] if parts and item is not None and is_part_known else 0)

    def load(self, batch: Batch) -> None:
        """What the batch touches, in bulk; the rest is fetched when its turn comes."""
        its = self._its
        self._requests = batch.requests if batch.origin is None else self._not_repeated(batch.origin, batch.requests)
        self._mail = read_mail(batch.deliveries)
        touched = touched_by(self._mail, self._requests, self._view.definitions)
        for tenant_id, keys in touched.keys.items():
            its.spaces.fetch(tenant_id, keys)
        for tenant_id, published in touched.published.items():
            its.fetch_receivers(tenant_id, published)
        receivers = len(its.state.live)
        its.state.fetch_owners(t.JOB, touched.jobs)
        its.state.fetch_owners(t.INCIDENT, touched.incidents)
        its.state.fetch(touched.instances)
        if touched.scopes:
            its.state.fetch_scopes(touched.scopes)
        if touched.may_close_waits:
            its.fetch_waits(receivers)
        if its.state.business_ids is not None:
            for tenant_id, business_ids in touched.business_ids.items():
                its.state.business_ids.look_up(tenant_id, business_ids)

    def _not_repeated(self, origin: Origin, requests: Sequence[object]) -> list[object]:
        """Positions grow, so what is not beyond the last one of its part was taken before."""
        parts = sorted({part for part, _ in origin.places})
        taken = {part: int(place) for part, place in self._its.snapshot.positions(origin.source, parts).items()}
        covered = self._covered(origin)
        fresh: list[object] = []
        for request, (part, place) in zip(requests, origin.places, strict=True):
            if place > taken.get(part, -1) and part not in covered:
                taken[part] = self._reached[part] = place
                fresh.append(request)
            else:
                fresh.append(_REPEATED)
        return fresh

    def _covered(self, origin: Origin) -> set[str]:
        """Of rows that are noted one by one, those that their part was read beyond before."""
        source = whole_source(origin.source)
        if source is None:
            return set()
        rows = {name: place_of_row(name) for name, _ in origin.places}
        taken = self._its.snapshot.positions(source, sorted({part for part, _ in rows.values()}))
        return {name for name, (part, place) in rows.items() if place <= int(taken.get(part, -1))}

    def carry_out(self, batch: Batch) -> None:
        self._is_carrying_out = True
        self._its.keys.follow(batch.counter)
        if batch.deliveries:
            self._take(batch.deliveries)
        for request in self._requests:
            self._begun.append(request)
            self._parts.clear()
            if isinstance(request, NewMessage):
                self.replies.append(self._execution.publish(request))
            else:
                self.replies.append(self._reply_to(request))
        self._is_carrying_out = False

    def _reply_to(self, request: object) -> Reply:
        if request is _REPEATED:
            return Reply(repeated=True)
        if request is PROBE:
            self._is_probed = True
            return Reply()
        if isinstance(request, DeadLetter):
            return self._execution.keep_dead_letter(request)
        if isinstance(request, Sweep):
            return self._sweep(request)
        if isinstance(request, SetAsideRequest):
            return self._of_set_aside(request)
        if isinstance(request, EndDeadLetter):
            return self._letters.carry_out(request)
        if isinstance(request, InboxRequest):
            if self._inbox is None:
                self._inbox = InboxFold(self._execution)
            return self._inbox.carry_out(request)
        return self._command(cast(Order, request))

    def _sweep(self, sweep: Sweep) -> Reply:
        orders, swept = due_orders(self._its, sweep, self._now)
        for key, order in orders:
            self._parts.append(key)
            self._execution.order(order, written_order(order))
            if sweep.kind in UNMOVED:
                self._swept.append((sweep.kind, key))
        return Reply(swept=swept)

    def _take(self, deliveries: Mail) -> None:
        """What other shards have sent, each once, in the order of its sender."""
        taken = dict(self._its.snapshot.received())
        for delivery, order in zip(deliveries, self._mail, strict=True):
            sender, row = delivery
            self._begun.append(delivery)
            if row.seq > taken.get(sender, 0):
                taken[sender] = self._received[sender] = row.seq
                self._its.keys.follow(row.counter)
                self._execution.allow(left_of(row.command))
                written = read_json(order_text(row.command))
                order = read_order(written) if order is None else order
                self._execution.receive(order, written)
        self._execution.allow(MOST)
        self._sent_by_mail = len(self._its.outbox)

    def _of_set_aside(self, request: SetAsideRequest) -> Reply:
        if self._aside is None:
            self._aside = SetAsideFold(self._execution, self._received)
        return self._aside.carry_out(request)

    def _command(self, request: Order) -> Reply:
        stamped(request, self._now)
        if isinstance(request, c.BroadcastSignal):
            return self._execution.broadcast(request)
        if not isinstance(request, c.ActivateJobs):
            return Reply(self._execution.order(request, written_order(request)))
        self._its.fetch_ready(request)
        decided = self._execution.order(request, written_order(request))
        return Reply(decided, jobs=activated_jobs(self._its.state, decided))

    def changes(self, batch: Batch) -> Changes | None:
        """The rows of this commit; None when there is nothing to write."""
        its, head = self._its, self._its.snapshot.head
        if not self._has_changes(batch) and (batch.requests or not batch.taken):
            return None
        keys, instances = self._noted.keys, self._noted.instances
        # Before anything else that is large is written: an instance may have become too large.
        instances.finish()
        block = block_of(self._noted.entries)
        keys.finish()
        instances.write(keys.homes.changed)
        # A row that is due, and that nothing has come of, would be swept for ever, before all others.
        moved = instances.moved() if self._swept else {}
        for kind, key in self._swept:
            table, name = UNMOVED[kind]
            if key not in moved[table]:
                self._of_set_aside(SetAside(name, key, NO_EFFECT, may_pass=False))
        self._decided = keys.decided
        self._ended = instances.ended
        sent = self._execution.outbox_rows(head.sent)
        changes = Changes(Head(head.version + 1, its.keys.counter, self._now, head.sent + len(sent)))
        changes.put = {**keys.put, **instances.put}
        changes.drop = {**keys.drop, **instances.drop}
        changes.update = instances.update
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
            positions += self._inbox.rows.positions
            changes.put |= self._inbox.rows.puts()
            changes.drop |= self._inbox.rows.drops()
        if positions:
            changes.put[t.POSITION] = positions
        if self._aside is not None:
            changes.put[t.SET_ASIDE] = list(self._aside.put.values())
            changes.drop[t.SET_ASIDE] = list(self._aside.drop)
        if self._execution.dead_letters:
            changes.put[t.DEAD_LETTER] = self._execution.dead_letters
        if self._letters.ended:
            changes.drop[t.DEAD_LETTER] = [(key,) for key in self._letters.ended]
        return changes

    def _has_changes(self, batch: Batch) -> bool:
        has_inbox_changes = self._inbox is not None and not self._inbox.rows.is_empty
        has_set_aside = self._aside is not None and bool(self._aside.put or self._aside.drop)
        letters = (*self._execution.dead_letters, *self._letters.ended)
        others = (self._is_probed, batch.positions, self._received, self._reached, letters)
        return bool(self._noted.entries) or any(others) or has_inbox_changes or has_set_aside

    def let_go(self) -> None:
        """After the commit: what points at each other is cut, and freed with the fold, not by the collector."""
        self._noted.keys.let_go()
        self._its.state.let_go()

    def done(self, changes: Changes | None) -> Commit:
        outbox, put = self._its.outbox, {} if changes is None else changes.put
        return Commit(
            self.replies,
            self._its.snapshot.head if changes is None else changes.head,
            self._its.shard.answers,
            {receiver for receiver, _ in outbox},
            {receiver for receiver, _ in outbox[self._sent_by_mail :]},
            changes is not None,
            put.get(t.MESSAGE, ()),
            put.get(t.JOB, ()),
            self._ended,
            self._decided,
            self._its.index,
        )

"""The working set of a run: a shard that finds in a store what it needs; and the execution of orders on it.

Before an order is carried out, what it touches is fetched, unless it is here already. Orders for other shards go to
the outbox. Nothing is written here; `changes.py` derives what a run has changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any

from conjoin.errors import EndlessRequest
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import Subscription
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.coupling import Order
from conjoin.kernel.keys import Keys
from conjoin.kernel.policies import ONCE_PER_PROCESS
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance
from conjoin.runtime.client_api.messages import NewMessage, accepted, order_of
from conjoin.runtime.codec.instances import all_inside
from conjoin.runtime.codec.orders import Request, stamped, with_own_records, written_order
from conjoin.runtime.engine import shard as engine
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.placement import Placement, shard_of
from conjoin.runtime.engine.shard import Decided, Shard, instance_keys
from conjoin.runtime.engine.stored_catalog import CatalogView, inbox_version
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.runtime.run import limits
from conjoin.runtime.run.batches import Reply
from conjoin.runtime.run.limits import (
    CHECK_EVERY,
    FEWEST_STEPS,
    LONGEST_UNCHECKED_S,
    Consequences,
    shares,
    written_mail,
)
from conjoin.runtime.run.working_set.large_keys import fetch_more, fetch_next_receiver, fetch_waiting
from conjoin.runtime.run.working_set.loaded_instances import LoadedState
from conjoin.runtime.run.working_set.loaded_spaces import LoadedSpaces, StoredIds
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import DeadLetterRow, OutboxRow

MOST_JOB_BYTES = 16 * 1024 * 1024
"""Of jobs with very large variables one activation hands out only the first: a worker asks again."""
_JOBS_AT_ONCE = 32
_FEW_WAITS = 8


class WorkingSet:
    """For one run. `catalog` is what the view has deployed, as the rules see it."""

    def __init__(
        self, index: int, snapshot: ShardSnapshot, view: CatalogView, catalog: Catalog, placement: Placement
    ) -> None:
        keys = Keys(index)
        keys.number_as(placement.homes.number_of(index))
        keys.follow(snapshot.head.next_key)
        self.index = index
        self.snapshot = snapshot
        self.keys = keys
        self.state = LoadedState(view.definitions, keys, snapshot)
        self.spaces = LoadedSpaces(snapshot, view.policy_of, self.state)
        self.shard = Shard(index, self.state, self.spaces)
        self.shard.catalog = catalog.asking(instance_keys(keys))
        self.journal: list[tuple[Order, Decided]] = []
        """The orders of the request that is carried out now, each with what was decided."""
        self.outbox: list[tuple[int, Request]] = []
        """Orders for other shards, each with its receiver."""
        self.most_steps = engine.MOST_STEPS
        """How many may follow from what is carried out now."""
        self.shard_count = placement.shards
        self.is_one_of_many = placement.shards > 1
        self._placement = placement
        if self.is_one_of_many:
            self.shard.hand_on = partial(placement.hand_on, self.shard, self.outbox)

    def know_business_ids(self) -> None:
        """One may be held by one instance at a time."""
        ids = BusinessIds(StoredIds(self.state, self.spaces))
        self.shard.business_ids = self.state.business_ids = ids
        self.shard.catalog = self.catalog.asking(self.catalog.new_instance, ids.is_free)

    @property
    def catalog(self) -> Catalog:
        return self.shard.catalog

    def carry_out(self, command: Order) -> Decided:
        """One order, with everything that it touches fetched before."""
        decided: Decided
        if isinstance(command, c.ForKey):
            self._fetch_key(command)
            decided = self.shard.correlate(command)
        else:
            kind = type(command)
            fetch = _FETCH.get(kind)
            if fetch is not None:
                fetch(self, command)
            decided = self.shard.advance(command)
            if kind in _BEGINNING:
                for event in decided:
                    if isinstance(event, pe.InstanceCreated):
                        instance = self.state.elements[event.key]
                        assert isinstance(instance, Instance)
                        self.state.live[event.key] = instance
        self.journal.append((command, decided))
        return decided

    def drain(self) -> None:
        queue, carry_out, steps = self.shard.queue, self.carry_out, 0
        consequences = Consequences(self.journal)
        due = monotonic() + LONGEST_UNCHECKED_S
        while queue:
            if steps == engine.MOST_STEPS:
                raise EndlessRequest(steps)
            carry_out(queue.popleft())
            steps += 1
            if not steps % CHECK_EVERY or monotonic() > due:
                consequences.check(steps)
                if steps > self.most_steps:
                    raise EndlessRequest(steps, "many ways from shard to shard")
                due = monotonic() + LONGEST_UNCHECKED_S
        self.shard.settle()

    def fetch_receivers(self, tenant_id: str, published: Sequence[tuple[str, str]]) -> None:
        """The instances that messages of these keys and names will most likely reach, in bulk.

        Of each process as many of the first who wait as there are messages; if another gets one, it is fetched then.
        """
        found: list[int] = []
        for (key, name), count in Counter(published).items() if len(published) > 1 else ((it, 1) for it in published):
            place = (tenant_id, key)
            if place in self.spaces.crowds:
                self.spaces.crowds[place].name(name)
            topic = self.spaces.at(place).awaited.get(name)
            if topic is not None:
                once = self.catalog.policies.of(name).cardinality == ONCE_PER_PROCESS
                for lane in topic.lanes.values():
                    found += _first_idle(lane, count if once else lane.open)
        if self.is_one_of_many:
            home = self._placement.homes.shard_of_record
            found = [key for key in found if home(key) == self.index]
        self.state.fetch(found)

    def fetch_waits(self, loaded_before: int) -> None:
        """The keys that instances wait on, but for the first so many of them: what ends one closes its waits.

        One that waits for much is mostly not at its end: the keys of such are fetched when their turn comes.
        """
        keys: dict[str, dict[str, None]] = {}
        for instance in islice(self.state.live.values(), loaded_before, None):
            awaited = list(islice(_awaited_keys(instance), _FEW_WAITS + 1))
            if len(awaited) <= _FEW_WAITS:
                keys.setdefault(instance.tenant_id, {}).update(dict.fromkeys(awaited))
        for tenant_id, some in keys.items():
            if self.is_one_of_many:
                some = {key: None for key in some if shard_of(key, self.shard_count) == self.index}
            self.spaces.fetch(tenant_id, some)

    def fetch_ready(self, order: c.ActivateJobs) -> None:
        """The oldest jobs that a worker wants; fewer of them where their variables would be very much together."""
        if order.limit < 1:
            return
        jobs = self.snapshot.ready_jobs(order.tenant_id, order.type, order.limit)
        size, fitting = 0, 0
        while fitting < len(jobs) and size < MOST_JOB_BYTES:
            some = jobs[fitting : fitting + _JOBS_AT_ONCE]
            self.state.fetch(job.instance_key for job in some)
            for job in some:
                if size >= MOST_JOB_BYTES:
                    break
                row = self.state.rows.get(job.instance_key)
                size += 0 if row is None else len(row.body)
                fitting += 1
        order.limit = max(fitting, 1)

    def _fetch_key(self, order: c.ForKey) -> None:
        place = (order.tenant_id, order.key)
        loaded = self.spaces.by_place.get(place)
        if loaded is None:
            self.spaces.fetch(order.tenant_id, [order.key])
            loaded = self.spaces.by_place[place]
        command = order.command
        crowd = self.spaces.crowds.get(place)
        if crowd is not None:
            fetch_waiting(crowd, loaded, self.catalog, command)
        if isinstance(command, correlation.CloseSubscription):
            # A message may be on its way to it; the answer, perhaps the next order of this run, finds it here.
            closing = loaded.space.subscriptions.get(command.subscription_key)
            if closing is not None and closing.busy_with is not None:
                loaded.awaiting[closing.key] = closing
        elif isinstance(command, correlation.RejectCorrelation):
            key = command.subscription.key
            own = loaded.space.subscriptions.get(key) or loaded.awaiting.get(key)
            order.command = command = with_own_records(command, own)
            if crowd is not None:
                fetch_next_receiver(crowd, loaded, self.catalog, command)
        if loaded.oldest_up_to:
            fetch_more(self.spaces, loaded, command, self.catalog)


def _awaited_keys(instance: Instance) -> Iterator[str]:
    for it in all_inside(instance):
        for wait in it.waits:
            if isinstance(wait, Subscription) and wait.payload is not None:
                yield wait.payload


def _first_idle(lane: Iterable[Subscription], count: int) -> list[int]:
    """The instances of the first who wait; many more may stand behind them."""
    found: list[int] = []
    for it in lane:
        if len(found) == count:
            break
        if it.busy_with is None:
            found.append(it.instance_id)
    return found


def _fetch_receiver(its: WorkingSet, order: c.DeliverMessage | c.RefuseSubscription) -> None:
    its.state.fetch([order.subscription.instance_id])


def _fetch_start_timers(its: WorkingSet, order: c.ScheduleStarts) -> None:
    definition = its.state.definitions.by_key[order.definition_key]
    its.state.put_start_timers(its.snapshot.start_timers(definition.tenant_id, definition.process_id))


_BEGINNING = (c.CreateInstance, c.StartInstance)
_FETCH: dict[type, Callable[[WorkingSet, Any], None]] = {
    c.DeliverMessage: _fetch_receiver,
    c.RefuseSubscription: _fetch_receiver,
    c.CancelInstance: lambda its, order: its.state.fetch([order.key]),
    **dict.fromkeys(
        (c.CompleteJob, c.FailJob, c.ThrowError, c.UpdateRetries, c.UpdateTimeout, c.AssignTask),
        lambda its, order: its.state.fetch_owners(t.JOB, [order.key]),
    ),
    c.ResolveIncident: lambda its, order: its.state.fetch_owners(t.INCIDENT, [order.key]),
    c.SetVariables: lambda its, order: its.state.fetch_scopes([order.scope_key]),
    c.BroadcastSignal: lambda its, order: its.state.fetch(its.snapshot.signal_instances(order.tenant_id, order.name)),
    c.ScheduleStarts: _fetch_start_timers,
}
"""Each takes the kind of order that it stands for."""


Note = Callable[[list[Any], int, list[tuple[Order, Decided]]], None]


class Execution:
    """Messages and orders are carried out on the working set, each with all that follows from it.

    When a request is over, `note` is told of it: how it is written in the log, where the keys stood before it, and the
    journal of its orders. How far what goes to other shards may go on from there is kept here. The parts of a run
    (`fold.py`, the inbox, what is set aside) all work through it, and it knows none of them.
    """

    def __init__(self, its: WorkingSet, view: CatalogView, now: int, note: Note) -> None:
        self.its = its
        self.view = view
        self.now = now
        self._note = note
        self.dead_letters: list[DeadLetterRow] = []
        self._left = limits.MOST
        """How far what is carried out now may still go."""
        self._shares: list[int] = []
        """The same for each order in the outbox."""

    def allow(self, left: int) -> None:
        """What is carried out from here on may go so far."""
        self._left = left
        self.its.most_steps = max(left, FEWEST_STEPS)

    def order(self, order: Order, written: list[Any], next_key: int = 0) -> Decided:
        """Carry it out with all that follows; the answer is what was decided of the order itself."""
        its = self.its
        its.journal.clear()
        next_key = next_key or its.keys.next
        decided = its.carry_out(order)
        its.drain()
        if len(its.outbox) > len(self._shares):
            self._note_sent(len(its.journal))
        self._note(written, next_key, its.journal)
        return decided

    def publish(self, new: NewMessage) -> Reply:
        its = self.its
        policies = self.view.inbox_policies if new.from_inbox else its.catalog.policies
        message = accepted(new, its.keys.take(), self.now, policies)
        if new.from_inbox:
            its.spaces.fetch(new.tenant_id, [new.key])
            its.spaces.by_place[new.tenant_id, new.key].versions[message.key] = inbox_version(self.view.version)
        decided = self.order(order_of(new, message, self.now), written_order(new), message.key)
        return Reply(decided, message.key, awaits_answer=new.sync)

    def broadcast(self, signal: c.BroadcastSignal) -> Reply:
        """It concerns every shard, so it goes the way of the orders that one shard gives to others."""
        its = self.its
        its.journal.clear()
        next_key = its.keys.next
        its.shard.hand_on(signal)
        its.drain()
        self._note_sent(0)
        self._note(written_order(signal), next_key, its.journal)
        return Reply()

    def keep_dead_letter(self, letter: DeadLetter) -> Reply:
        """Nothing is decided of it: it is kept, with a key of its own."""
        key = self.its.keys.take()
        self.dead_letters.append(DeadLetterRow(key, *letter, self.now))
        return Reply(key=key)

    def send(self, new: NewMessage) -> None:
        """To the shard where its key is at home: published here, or by mail there, where it gets its key.

        The log of this shard has it without events: that it was sent on from here.
        """
        its = self.its
        receiver = shard_of(new.key, its.shard_count)
        if receiver == its.index:
            self.publish(new)
            return
        its.journal.clear()
        its.outbox.append((receiver, new))
        self._note_sent(0)
        self._note(written_order(new), its.keys.next, its.journal)

    def receive(self, order: Request, written: list[Any]) -> None:
        """What another shard has sent."""
        if isinstance(order, NewMessage):
            self.publish(order)
        else:
            self.order(stamped(order, self.now), written)

    def outbox_rows(self, sent: int) -> list[OutboxRow]:
        """What goes to other shards; so many went before."""
        counter = self.its.keys.counter
        return [
            OutboxRow(sent + number, receiver, counter, written_mail(order, left))
            for number, ((receiver, order), left) in enumerate(zip(self.its.outbox, self._shares, strict=True), 1)
        ]

    def _note_sent(self, steps: int) -> None:
        fresh = [order for _, order in self.its.outbox[len(self._shares) :]]
        self._shares += shares(self._left, fresh, self.its.shard_count, steps)

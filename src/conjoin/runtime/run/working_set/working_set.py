"""The working set of a run: a shard that finds in a store what it needs, and what was carried out on it so far.

Before an order is carried out, what it touches is fetched, unless it is here already. Orders for other shards go to
the outbox. Nothing is written here; `changes.py` says what a run has changed.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from time import monotonic
from typing import Any

from conjoin.errors import EndlessRequest
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.coupling import Order
from conjoin.kernel.keys import Keys
from conjoin.kernel.policies import ONCE_PER_PROCESS
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance
from conjoin.runtime.codec.key_spaces import Loaded
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.consequences import CHECK_EVERY, LONGEST_UNCHECKED_S, Consequences
from conjoin.runtime.engine.placement import Placement
from conjoin.runtime.engine.shard import MOST_STEPS, Shard, instance_keys
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.working_set.crowded_keys import fetch_next_receiver, fetch_waiting
from conjoin.runtime.run.working_set.hot_keys import fetch_more
from conjoin.runtime.run.working_set.loaded_instances import LoadedState
from conjoin.runtime.run.working_set.loaded_spaces import LoadedSpaces
from conjoin.runtime.run.working_set.stored_ids import StoredIds
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot

MOST_JOB_BYTES = 16 * 1024 * 1024
"""Of jobs with very large variables one activation hands out only the first: a worker asks again."""
_JOBS_AT_ONCE = 32


@dataclass(slots=True)
class Outbox:
    """Where orders go that follow from others: into the queue of this shard, or to another one."""

    index: int
    placement: Placement
    keys: Keys
    queue: deque[Order]
    sent: list[tuple[int, Order]] = field(default_factory=list)

    def hand_on(self, order: Order) -> None:
        for receiver, sent in self.placement.receivers(self.index, order, self.keys.counter):
            if receiver == self.index:
                self.queue.append(sent)
            else:
                self.sent.append((receiver, sent))


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
        self.spaces = LoadedSpaces(snapshot, view.policy_of)
        self.shard = Shard(index, self.state, self.spaces)
        self.shard.catalog = catalog.asking(instance_keys(keys))
        self.journal: list[tuple[Order, Sequence[Any]]] = []
        self.most_steps = MOST_STEPS
        """So many may follow from what is carried out now."""
        self._placement = placement
        self._outbox = Outbox(index, placement, keys, self.shard.queue)
        self._consequences = Consequences(self.journal)
        if placement.shards > 1:
            self.shard.hand_on = self._outbox.hand_on

    def know_business_ids(self) -> None:
        """One may be held by one instance at a time."""
        ids = BusinessIds(StoredIds(self.state, self.spaces))
        self.shard.business_ids = self.state.business_ids = ids
        self.shard.catalog = self.catalog.asking(self.catalog.new_instance, ids.is_free)

    @property
    def catalog(self) -> Catalog:
        return self.shard.catalog

    @property
    def outbox(self) -> list[tuple[int, Order]]:
        return self._outbox.sent

    @property
    def shard_count(self) -> int:
        return self._placement.shards

    @property
    def is_one_of_many(self) -> bool:
        return self._placement.shards > 1

    def carry_out(self, command: Order) -> Any:
        """One order, with everything that it touches fetched before."""
        kind = type(command)
        if kind is c.ForKey:
            self._fetch_key(command)  # type: ignore[arg-type]
            decided = self.shard.correlate(command)  # type: ignore[arg-type]
        else:
            fetch = _FETCH.get(kind)
            if fetch is not None:
                fetch(self, command)
            decided = self.shard.advance(command)
            if kind in _BEGINNING:
                self._note_begun(decided)
        self.journal.append((command, decided))
        return decided

    def _note_begun(self, decided: Sequence[Any]) -> None:
        for event in decided:
            if type(event) is pe.InstanceCreated:
                instance = self.state.elements[event.key]
                assert isinstance(instance, Instance)
                self.state.live[event.key] = instance

    def drain(self) -> None:
        carry_out = self.carry_out
        self._consequences = Consequences(self.journal)
        due = monotonic() + LONGEST_UNCHECKED_S
        for step, order in enumerate(self.shard.steps(), 1):
            carry_out(order)
            if not step % CHECK_EVERY or monotonic() > due:
                self._check(step)
                due = monotonic() + LONGEST_UNCHECKED_S
        self.shard.settle()

    def _check(self, steps: int) -> None:
        self._consequences.check(steps)
        if steps > self.most_steps:
            raise EndlessRequest(steps, "many ways from shard to shard")

    def fetch_receivers(self, tenant_id: str, published: Iterable[tuple[str, str]]) -> None:
        """The instances that messages of these keys and names will most likely reach, in bulk.

        Of each process as many of the first who wait as there are messages; whoever else gets one is fetched then.
        """
        found: list[int] = []
        for (key, name), count in Counter(published).items():
            place = (tenant_id, key)
            if place in self.spaces.crowds:
                self.spaces.crowds[place].name(name)
            topic = self.spaces.at(place).awaited.get(name)
            if topic is not None:
                once = self.catalog.policies.of(name).cardinality == ONCE_PER_PROCESS
                for lane in topic.lanes.values():
                    idle = (it.instance_id for it in lane if it.busy_with is None)
                    found += islice(idle, count) if once else idle
        self.state.fetch(key for key in found if self._is_here(key))

    def _is_here(self, instance_key: int) -> bool:
        return not self.is_one_of_many or self._placement.homes.shard_of_record(instance_key) == self.index

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
        if type(command) is correlation.CloseSubscription:
            _keep_awaiting(command, loaded)
        elif type(command) is correlation.RejectCorrelation:
            order.command = command = _with_own_records(command, loaded)
            if crowd is not None:
                fetch_next_receiver(crowd, loaded, self.catalog, command)
        if loaded.oldest_up_to:
            fetch_more(self.spaces, loaded, command, self.catalog)


def _keep_awaiting(command: correlation.CloseSubscription, loaded: Loaded) -> None:
    """A message may be on its way to it; the answer, perhaps the next order of this run, finds it here."""
    closing = loaded.space.subscriptions.get(command.subscription_key)
    if closing is not None and closing.busy_with is not None:
        loaded.awaiting[closing.key] = closing


def _with_own_records(command: correlation.RejectCorrelation, loaded: Loaded) -> correlation.RejectCorrelation:
    """What came from another shard names the subscription and the message; the records are the ones here."""
    key = command.subscription.key
    own = loaded.space.subscriptions.get(key) or loaded.awaiting.get(key)
    if own is None or own is command.subscription:
        return command
    message = own.busy_with
    if message is None or message.key != command.message.key:
        message = command.message
    return correlation.RejectCorrelation(own, message, command.at, command.why)


def _fetch_receiver(its: WorkingSet, order: c.DeliverMessage | c.RefuseSubscription) -> None:
    its.state.fetch([order.subscription.instance_id])


def _fetch_start_timers(its: WorkingSet, order: c.ScheduleStarts) -> None:
    definition = its.state.definitions.by_key[order.definition_key]
    its.state.put_start_timers(its.snapshot.start_timers(definition.tenant_id, definition.process_id))


def _fetch_job(its: WorkingSet, order: Any) -> None:
    its.state.fetch_owner(t.JOB, order.key)


_BEGINNING = (c.CreateInstance, c.StartInstance)
_FETCH: dict[type, Callable[[WorkingSet, Any], None]] = {
    c.DeliverMessage: _fetch_receiver,
    c.RefuseSubscription: _fetch_receiver,
    c.CancelInstance: lambda its, order: its.state.fetch([order.key]),
    c.CompleteJob: _fetch_job,
    c.FailJob: _fetch_job,
    c.ThrowError: _fetch_job,
    c.UpdateRetries: _fetch_job,
    c.UpdateTimeout: _fetch_job,
    c.AssignTask: _fetch_job,
    c.ResolveIncident: lambda its, order: its.state.fetch_owner(t.INCIDENT, order.key),
    c.SetVariables: lambda its, order: its.state.fetch_scope(order.scope_key),
    c.BroadcastSignal: lambda its, order: its.state.fetch(its.snapshot.signal_instances(order.tenant_id, order.name)),
    c.ScheduleStarts: _fetch_start_timers,
}

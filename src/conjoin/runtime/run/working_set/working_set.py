"""The working set: the part of a shard that one run has loaded, folded by the same code as a shard in memory.

Before an order is carried out, what it touches is fetched, unless it is here already. Orders for other shards go to
the outbox. Nothing is written here; `changes.py` says what a run has changed.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from time import monotonic
from typing import Any

from conjoin.errors import EndlessRequest
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.correlation import KeySpace
from conjoin.kernel.correlation import commands as correlation
from conjoin.kernel.correlation import events as e
from conjoin.kernel.coupling import Order
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.policies import ONCE_PER_PROCESS
from conjoin.kernel.process import commands as c
from conjoin.kernel.process import events as pe
from conjoin.kernel.process.state import Instance, Scope, Timer
from conjoin.runtime.codec.index_rows import IndexRows, index_rows
from conjoin.runtime.codec.instances import all_inside, put_instance
from conjoin.runtime.codec.key_spaces import Loaded, PolicyOf, add_messages
from conjoin.runtime.engine.business_ids import BusinessIds
from conjoin.runtime.engine.consequences import LONGEST_UNCHECKED_S, Consequences
from conjoin.runtime.engine.key_spaces import Place
from conjoin.runtime.engine.placement import Placement
from conjoin.runtime.engine.shard import MOST_STEPS, Shard
from conjoin.runtime.run.working_set import crowds
from conjoin.runtime.run.working_set.crowded_keys import fetch_next_receiver, fetch_waiting
from conjoin.runtime.run.working_set.elements_by_key import instances_with_elements
from conjoin.runtime.run.working_set.families import LoadedState, callers_of
from conjoin.runtime.run.working_set.hot_keys import fetch_more
from conjoin.runtime.run.working_set.loading import load_spaces
from conjoin.runtime.run.working_set.stored_ids import StoredIds
from conjoin.store import tables as t
from conjoin.store.port import KeyRows, ShardSnapshot
from conjoin.store.rows import InstanceRow, MessageRow, TimerRow
from conjoin.store.tables import Table

MOST_MESSAGES = 100
"""So many live messages of a key are loaded with it; a key with more of them is loaded further as it is needed."""
MOST_JOB_BYTES = 16 * 1024 * 1024
"""Of jobs with very large variables one activation hands out only the first: a worker asks again."""
_JOBS_AT_ONCE = 32


def no_key(*asked: Any) -> int:
    raise AssertionError("only a run hands out keys")


def nothing_more(keys: Iterable[int]) -> None:
    raise AssertionError("only a run loads instances")


def not_known(*asked: Any) -> bool:
    raise AssertionError("only a run knows who holds a business id")


class LoadedSpaces:
    """The key spaces of a run, by tenant and key."""

    def __init__(self) -> None:
        self.by_place: dict[Place, Loaded] = {}

    def at(self, place: Place) -> KeySpace:
        return self.by_place[place].space

    def settle(self, places: Iterable[Place]) -> None:
        """Nothing comes to rest here: the run ends, and all of it goes."""


class WorkingSet(Shard):
    state: LoadedState

    def __init__(self, index: int, snapshot: ShardSnapshot, definitions: Definitions, placement: Placement) -> None:
        super().__init__(index, definitions)
        self.state.fetch = self.fetch_instances
        self.keys.number_as(placement.homes.number_of(index))
        self.keys.follow(snapshot.head.next_key)
        self.snapshot = snapshot
        self.spaces: Any = LoadedSpaces()
        self.instances: dict[int, InstanceRow] = {}
        """As they were loaded."""
        self.indexed: dict[int, IndexRows] = {}
        self.start_timers: dict[int, TimerRow] = {}
        self.journal: list[tuple[Order, Sequence[Any]]] = []
        self.outbox: list[tuple[int, Order]] = []
        self.policy_of: PolicyOf
        self._placement = placement
        self.live: dict[int, Instance] = {}
        """Those that were loaded or begun in this run, ended ones too."""
        self._looked_up: set[tuple[Any, ...]] = set()
        self._consequences = Consequences(self.journal)
        self.most_steps = MOST_STEPS
        """So many may follow from what is carried out now."""
        if placement.shards > 1:
            self.hand_on = self._hand_on

    def _new_state(self, definitions: Definitions) -> LoadedState:
        return LoadedState(definitions, self.keys)

    def know(self, catalog: Catalog, policy_of: PolicyOf) -> None:
        """What is deployed and decided, as of one version of the catalog."""
        self.catalog = catalog
        catalog.new_instance = self.new_instance
        self.policy_of = policy_of

    def know_business_ids(self) -> None:
        """One may be held by one instance at a time."""
        self.business_ids = BusinessIds(StoredIds(self))
        self.catalog.is_free = self.business_ids.is_free

    @property
    def shard_count(self) -> int:
        return self._placement.shards

    @property
    def is_one_of_many(self) -> bool:
        return self._placement.shards > 1

    def tree_of(self, instance: Instance) -> int:
        """The key of the outermost instance around one: itself, unless it was called."""
        while instance.parent_key:
            call = self.state.elements.get(instance.parent_key)
            if call is None:
                break
            instance = call.instance
        return instance.key

    def _hand_on(self, order: Order) -> None:
        for receiver, sent in self._placement.receivers(self.index, order, self.keys.counter):
            if receiver == self.index:
                self.queue.append(sent)
            else:
                self.outbox.append((receiver, sent))

    def carry_out(self, command: Order) -> Any:
        """One order, with everything that it touches fetched before."""
        kind = type(command)
        if kind is c.ForKey:
            self._fetch_key(command)  # type: ignore[arg-type]
            decided = self._correlate(command)  # type: ignore[arg-type]
        else:
            fetch = _FETCH.get(kind)
            if fetch is not None:
                fetch(self, command)
            decided = self._advance(command)
            if kind in _BEGINNING:
                self._note_begun(decided)
        self.journal.append((command, decided))
        return decided

    def dissolve(self) -> None:
        """The run is over. What points at each other is taken apart, so that it goes at once and not as garbage."""
        self.catalog.new_instance = no_key
        if self.business_ids is not None:
            self.business_ids = None
            self.catalog.is_free = not_known
        self.hand_on = self.queue.append
        self.state.fetch = nothing_more
        for loaded in self.spaces.by_place.values():
            loaded.crowd = None
        for instance in self.live.values():
            for it in list(all_inside(instance)):
                it.scope = it.following = it.preceding = None
                del it.instance
                if isinstance(it, Scope):
                    it.first = it.last = None
        for _, decided in self.journal:
            for event in decided:
                if type(event) in _TARGETS:
                    event.message.targets = ()

    def _note_begun(self, decided: Sequence[Any]) -> None:
        for event in decided:
            if type(event) is pe.InstanceCreated:
                instance = self.state.elements[event.key]
                assert isinstance(instance, Instance)
                self.live[event.key] = instance

    def drain(self) -> None:
        carry_out = self.carry_out
        self._consequences = Consequences(self.journal)
        due = monotonic() + LONGEST_UNCHECKED_S
        for step, order in enumerate(self.steps(), 1):
            carry_out(order)
            if monotonic() > due:
                self.check(step)
                due = monotonic() + LONGEST_UNCHECKED_S
        self._touched.clear()

    def check(self, steps: int) -> None:
        self._consequences.check(steps)
        if steps > self.most_steps:
            raise EndlessRequest(steps, "many ways from shard to shard")

    def fetch_spaces(self, tenant_id: str, keys: Iterable[str]) -> None:
        """The key spaces of many keys, and the instances that wait there."""
        by_place = self.spaces.by_place
        missing = [key for key in dict.fromkeys(keys) if (tenant_id, key) not in by_place]
        if not missing:
            return
        rows = self.snapshot.key_rows(tenant_id, missing, MOST_MESSAGES, crowds.MOST_WAITING)
        by_place.update(load_spaces(self.snapshot, tenant_id, missing, rows, self.policy_of))
        self._note_hot_keys(tenant_id, rows)

    def fetch_receivers(self, tenant_id: str, published: Iterable[tuple[str, str]]) -> None:
        """The instances that messages of these keys and names will most likely reach, in bulk.

        Of each process as many of the first who wait as there are messages; whoever else gets one is fetched then.
        """
        found: list[int] = []
        for (key, name), count in Counter(published).items():
            loaded: Loaded = self.spaces.by_place[tenant_id, key]
            if loaded.crowd is not None:
                loaded.crowd.name(name)
            topic = loaded.space.awaited.get(name)
            if topic is not None:
                once = self.catalog.policies.of(name).cardinality == ONCE_PER_PROCESS
                for lane in topic.lanes.values():
                    idle = (it.instance_id for it in lane if it.busy_with is None)
                    found += islice(idle, count) if once else idle
        self.fetch_instances(key for key in found if self._is_here(key))

    def _is_here(self, instance_key: int) -> bool:
        return not self.is_one_of_many or self._placement.homes.shard_of_record(instance_key) == self.index

    def _note_hot_keys(self, tenant_id: str, rows: KeyRows) -> None:
        if len(rows.messages) < MOST_MESSAGES:
            return
        keys = Counter(row.correlation_key for row in rows.messages)
        for row in rows.messages:
            if keys[row.correlation_key] == MOST_MESSAGES:
                self.spaces.by_place[tenant_id, row.correlation_key].oldest_up_to = row.key
        for key in (key for key, count in keys.items() if count == MOST_MESSAGES):
            # Whoever answers lets them go, however many are older.
            held = self.snapshot.held_messages(tenant_id, key)
            add_messages(self.spaces.by_place[tenant_id, key], held, self.policy_of)

    def fetch_messages(self, rows: Iterable[MessageRow]) -> None:
        """Messages that were found in another way than by their key."""
        found = list(rows)
        for tenant_id in dict.fromkeys(row.tenant_id for row in found):
            self.fetch_spaces(tenant_id, (row.correlation_key for row in found if row.tenant_id == tenant_id))
        for row in found:
            add_messages(self.spaces.by_place[row.tenant_id, row.correlation_key], [row], self.policy_of)

    def fetch_instances(self, keys: Iterable[int]) -> None:
        live = self.live
        missing = [key for key in dict.fromkeys(keys) if key not in live and self._is_new("instance", key)]
        if missing:
            rows = self.snapshot.instances(missing)
            self._put(rows)
            self.fetch_instances(callers_of(rows, self.state, self.snapshot))

    def _is_new(self, *looked_up: Any) -> bool:
        if looked_up in self._looked_up:
            return False
        self._looked_up.add(looked_up)
        return True

    def _put(self, rows: Sequence[InstanceRow]) -> None:
        state, by_key = self.state, self.definitions.by_key
        for row in rows:
            if row.key in self.live:
                # It may have ended in this run, of which the snapshot knows nothing.
                continue
            instance = Instance(row.key, by_key[row.definition_key], {})
            instance.started = row.started
            instance.tenant_id = row.tenant_id
            instance.business_id = row.business_id
            instance.parent_key = row.parent_key
            instance.lock_key = row.lock_key
            put_instance(state, instance, row.body)
            self.instances[row.key] = row
            self.live[row.key] = instance
            if self.business_ids is not None and not row.parent_key:
                self.business_ids.hold(row.tenant_id, row.process_id, row.business_id, row.key)
            found = index_rows(instance, state)
            if found:
                self.indexed[row.key] = found

    def _fetch_key(self, order: c.ForKey) -> None:
        place = (order.tenant_id, order.key)
        loaded = self.spaces.by_place.get(place)
        if loaded is None:
            self.fetch_spaces(order.tenant_id, [order.key])
            loaded = self.spaces.by_place[place]
        command = order.command
        if loaded.crowd is not None:
            fetch_waiting(self, loaded, command)
        if type(command) is correlation.CloseSubscription:
            _keep_awaiting(command, loaded)
        elif type(command) is correlation.RejectCorrelation:
            order.command = command = _with_own_records(command, loaded)
            if loaded.crowd is not None:
                fetch_next_receiver(self, loaded, command)
        if loaded.oldest_up_to:
            fetch_more(self, loaded, command)

    def _fetch_owner(self, table: Table, key: int) -> None:
        if key in self.state.jobs or key in self.state.incidents or not self._is_new(table.name, key):
            return
        self.fetch_instances(self.snapshot.instances_of(table, [key]).values())

    def _fetch_scope(self, order: c.SetVariables) -> None:
        """By the key of an instance, of a scope inside one, or else of any element."""
        key = order.scope_key
        self.fetch_instances([key])
        if key not in self.state.elements:
            self.fetch_instances(instances_with_elements(self.snapshot, [key]))

    def fetch_ready(self, order: c.ActivateJobs) -> None:
        """The oldest jobs that a worker wants; fewer of them where their variables would be very much together."""
        if order.limit < 1:
            return
        jobs = self.snapshot.ready_jobs(order.tenant_id, order.type, order.limit)
        size, fitting = 0, 0
        while fitting < len(jobs) and size < MOST_JOB_BYTES:
            some = jobs[fitting : fitting + _JOBS_AT_ONCE]
            self.fetch_instances(job.instance_key for job in some)
            for job in some:
                if size >= MOST_JOB_BYTES:
                    break
                row = self.instances.get(job.instance_key)
                size += 0 if row is None else len(row.body)
                fitting += 1
        order.limit = max(fitting, 1)

    def _fetch_listeners(self, order: c.BroadcastSignal) -> None:
        self.fetch_instances(self.snapshot.signal_instances(order.tenant_id, order.name))

    def _fetch_start_timers(self, order: c.ScheduleStarts) -> None:
        definition = self.definitions.by_key[order.definition_key]
        self.put_start_timers(self.snapshot.start_timers(definition.tenant_id, definition.process_id))

    def fetch_timers(self, rows: Sequence[TimerRow]) -> None:
        self.put_start_timers([row for row in rows if not row.instance_key])
        self.fetch_instances(row.instance_key for row in rows if row.instance_key)

    def put_start_timers(self, rows: Iterable[TimerRow]) -> None:
        for row in rows:
            if row.key in self.start_timers:
                continue
            self.start_timers[row.key] = row
            interval = (row.months, row.microseconds)
            timer = Timer(row.key, row.owner_key, row.element_id, row.due_at, row.repetitions, interval)
            self.state.watch_timer(timer)
            self.state.start_timers.setdefault((row.tenant_id, row.process_id), []).append(row.key)


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


_BEGINNING = (c.CreateInstance, c.StartInstance)
_TARGETS = (e.MessageCorrelated, e.InstanceStarted)
_FETCH: dict[type, Callable[[WorkingSet, Any], None]] = {
    c.DeliverMessage: lambda its, order: its.fetch_instances([order.subscription.instance_id]),
    c.RefuseSubscription: lambda its, order: its.fetch_instances([order.subscription.instance_id]),
    c.CancelInstance: lambda its, order: its.fetch_instances([order.key]),
    c.CompleteJob: lambda its, order: its._fetch_owner(t.JOB, order.key),
    c.FailJob: lambda its, order: its._fetch_owner(t.JOB, order.key),
    c.ThrowError: lambda its, order: its._fetch_owner(t.JOB, order.key),
    c.UpdateRetries: lambda its, order: its._fetch_owner(t.JOB, order.key),
    c.UpdateTimeout: lambda its, order: its._fetch_owner(t.JOB, order.key),
    c.AssignTask: lambda its, order: its._fetch_owner(t.JOB, order.key),
    c.ResolveIncident: lambda its, order: its._fetch_owner(t.INCIDENT, order.key),
    c.SetVariables: WorkingSet._fetch_scope,
    c.BroadcastSignal: WorkingSet._fetch_listeners,
    c.ScheduleStarts: WorkingSet._fetch_start_timers,
}

"""The broker: an engine on a store. What it has answered is durable.

Time is that of the given clock, and never goes back on a shard (`clock.py`). Requests are carried one after the other;
a serving process has a thread a shard instead (`run/carriers/shard_threads.py`), and large batches go through Spark.
"""

import logging
from collections import deque
from collections.abc import Callable, Sequence
from functools import cached_property, partial
from time import monotonic, sleep
from typing import Protocol

from conjoin.errors import ConjoinError, OutcomeUnknown
from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import rank_of
from conjoin.runtime.client_api.answers import Deployment, Done, Refusal
from conjoin.runtime.client_api.calls import Api, ReadyJob
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.clock import ForwardClock
from conjoin.runtime.codec.messages import stored_answer
from conjoin.runtime.codec.orders import Request
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.engine.placement import KeyHomes, homes_of
from conjoin.runtime.engine.stored_catalog import StoredCatalog
from conjoin.runtime.run import set_aside as aside
from conjoin.runtime.run.batches import Batch, Reply, accepted_at_least
from conjoin.runtime.run.carriers.sequential import Sequential
from conjoin.runtime.run.dead_letter_orders import EndDeadLetter, end_dead_letter, no_dead_letter
from conjoin.runtime.run.due import KINDS, Peeked, Sweep, peek, starts_to_schedule
from conjoin.runtime.run.isolation import is_items
from conjoin.runtime.upkeep.supervision import Supervisor
from conjoin.runtime.visibility.hiding import NOTHING_HIDDEN
from conjoin.runtime.visibility.scope import EVERYTHING
from conjoin.store.port import Store
from conjoin.store.rows import EvidenceRow

_log = logging.getLogger(__name__)
LATE_S = 10.0
_PAUSE_S = 0.01
_MOST_NOTED = 1_000


class Carrier(Protocol):
    """What carries requests to the shards (see `run/carriers`)."""

    def ask(self, shard: int, request: object) -> Reply: ...

    def deliver(self) -> object:
        """Empty all mailboxes."""


class Broker(Api):
    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        # Another process has placed instances before; how many makes no difference.
        super().__init__(store.facts.shards, clock())
        self.store = store
        self.clock = ForwardClock(clock)
        self.supervisor = Supervisor()
        self.catalog = StoredCatalog(store.catalog, store.facts.profile)
        self.post = Sequential(store, self.clock, self.catalog.view)
        self.carrier: Carrier = self.post
        self.hiding = NOTHING_HIDDEN
        self.scope = EVERYTHING
        self.noted_evidence: deque[tuple[str, EvidenceRow]] = deque(maxlen=_MOST_NOTED)
        """What was near to lost messages, by correlation key; to be kept behind the commits."""

    def close(self) -> None:
        self.post.close()
        self.store.close()

    @property
    def now(self) -> int:
        return self.clock()

    @property
    def definitions(self) -> Definitions:
        return self.catalog.view().definitions

    @property
    def known_definitions(self) -> Definitions:
        return self.catalog.last_seen.definitions

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT) -> Deployment | Refusal:
        deployed = self.catalog.deploy(resources, tenant_id, self.now)
        if not isinstance(deployed, Refusal) and any(process.is_new for process in deployed.processes):
            # What was deployed is deployed: start timers that cannot be scheduled now are scheduled by a later round.
            try:
                self.look_around()
            except ConjoinError as error:
                _log.warning("start timers are scheduled later: %s", error)
        return deployed

    def look_around(self) -> list[Peeked]:
        """What each shard has to do by itself. Start timers that are missing are scheduled, once for each version."""
        peeked = [self._peek(shard) for shard in range(self.shard_count)]
        for shard, seen in enumerate(peeked):
            self.schedule_starts(shard, seen)
        return peeked

    def schedule_starts(self, shard: int, seen: Peeked) -> None:
        view = self.catalog.view()
        if seen.scheduled_up_to >= view.version:
            return
        orders, positions = starts_to_schedule(shard, seen.scheduled_up_to, view, self.shard_count)
        try:
            self.post.run(shard, Batch(orders, positions=positions))
        except Exception as error:
            if not is_items(error):
                raise
            aside.schedule_carefully(partial(self.post.ask, shard), orders)
            self.post.run(shard, Batch(positions=positions))

    @cached_property
    def homes(self) -> KeyHomes:
        """Every shard knows them, so one that can be read is enough."""
        failed: ConjoinError | None = None
        for shard in range(self.shard_count):
            try:
                with self.post.look(shard) as snapshot:
                    return homes_of(snapshot, self.shard_count)
            except ConjoinError as error:
                failed = failed or error
        assert failed is not None, "a store has shards"
        raise failed

    def ask(self, shard: int, request: Request) -> Reply:
        return self.carrier.ask(shard, request)

    def tick(self) -> int:
        peeked = self.look_around()
        receivers = sorted({receiver for seen in peeked for receiver in seen.receivers})
        if receivers:
            self.post.deliver(receivers)
            self.post.forget_delivered()
        for shard, seen in enumerate(peeked):
            aside.retry_due(partial(self.post.ask, shard), seen.to_retry)
        if not receivers and not any(seen.due for seen in peeked):
            return 0
        return sum(self._sweep(shard, Sweep(kind)) for kind in KINDS for shard in range(self.shard_count))

    def retry_set_aside(self, key: int) -> Done | Refusal:
        """What could not be carried out is tried again."""
        return self._of_set_aside(aside.retry_set_aside, key)

    def delete_set_aside(self, key: int) -> Done | Refusal:
        """What could not be carried out never is; what waits for it goes on waiting."""
        return self._of_set_aside(aside.delete_set_aside, key)

    def end_dead_letter(self, key: int, message: NewMessage | None = None) -> Done | Refusal:
        """It becomes this message, or is deleted; whoever is second is refused, so it becomes one message at most."""
        shard = self.homes.shard_of_record(key)
        if shard < 0:
            return no_dead_letter(key)
        return end_dead_letter(partial(self.carrier.ask, shard), EndDeadLetter(key, message))

    def _of_set_aside(self, operation: Callable[[aside.Ask, int], Done | Refusal], key: int) -> Done | Refusal:
        shard = self.homes.shard_of_record(key)
        if shard < 0:
            return Refusal("NOT_FOUND", f"nothing with key {key} was set aside")
        return operation(partial(self.carrier.ask, shard), key)

    def _peek(self, shard: int) -> Peeked:
        with self.post.look(shard) as snapshot:
            return peek(snapshot, self.clock.follow(snapshot.head.time))

    def _sweep(self, shard: int, sweep: Sweep) -> int:
        happened = 0
        while True:
            swept = aside.sweep_carefully(
                partial(self.post.ask, shard), partial(self.post.look, shard), sweep, lambda: self.now
            )
            happened += swept
            if swept < sweep.limit:
                return happened

    def ready_jobs(self, type_: str, limit: int, tenant_ids: Sequence[str]) -> list[ReadyJob]:
        """Those of the shards that can be read."""
        found: list[ReadyJob] = []
        failed: list[ConjoinError] = []
        for shard in range(self.shard_count):
            try:
                with self.post.look(shard) as snapshot:
                    found += [
                        ReadyJob(rank_of(job.key), shard, tenant_id)
                        for tenant_id in tenant_ids
                        for job in snapshot.ready_jobs(tenant_id, type_, limit)
                    ]
            except ConjoinError as error:
                failed.append(error)
        if len(failed) == self.shard_count:
            raise failed[0]
        return found

    def late_answer(self, shard: int, message_key: int) -> e.Event:
        """It waits for an answer that lies in an outbox, perhaps of a process that died or is slow."""
        until = monotonic() + LATE_S
        while True:
            try:
                self.carrier.deliver()
            except ConjoinError as error:
                raise accepted_at_least(error) from error
            with self.post.look(shard) as snapshot:
                answer = stored_answer(snapshot.messages([message_key]), self.catalog.view().policy_of)
            if answer is not None:
                return answer
            if monotonic() > until:
                raise OutcomeUnknown(f"message {message_key} was accepted, but nobody has answered it yet")
            sleep(_PAUSE_S)

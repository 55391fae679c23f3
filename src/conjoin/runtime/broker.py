"""The broker: an engine on a store. What it has answered is durable.

Time is what the given clock says, and never goes back on a shard. Requests are carried by the post, one after the
other; a serving process has a thread a shard instead (`inline.py`), and large batches go through Spark.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from time import monotonic, sleep
from typing import Protocol

from conjoin.errors import StoreDamaged, StoreFailed
from conjoin.kernel.correlation import events as e
from conjoin.kernel.definitions import Definitions
from conjoin.kernel.keys import rank_of
from conjoin.runtime.answers import Deployment, Refusal
from conjoin.runtime.api import Api
from conjoin.runtime.batches import Reply
from conjoin.runtime.calls import ReadyJob
from conjoin.runtime.catalog import DEFAULT_TENANT
from conjoin.runtime.encoding.orders import Request
from conjoin.runtime.generations import KeyHomes, homes_of
from conjoin.runtime.hiding import NOTHING_HIDDEN
from conjoin.runtime.late_answers import stored_answer
from conjoin.runtime.peek import Peeked, peek
from conjoin.runtime.post import Post
from conjoin.runtime.start_timers import starts_to_schedule
from conjoin.runtime.stored_catalog import StoredCatalog
from conjoin.runtime.sweeps import KINDS, Sweep
from conjoin.store.port import Store

LATE_S = 10.0
_PAUSE_S = 0.01


class Carrier(Protocol):
    """Whatever carries requests to the shards."""

    def ask(self, shard: int, request: Request | Sweep) -> Reply: ...

    def deliver(self) -> object:
        """Empty all mailboxes."""


class Broker(Api):
    def __init__(self, store: Store, clock: Callable[[], int]) -> None:
        # Another process has placed instances before; nobody need know how many.
        super().__init__(store.facts.shards, clock())
        self.store = store
        self.catalog = StoredCatalog(store.catalog, store.facts.profile)
        self.post = Post(store, clock, self.catalog.view)
        self.carrier: Carrier = self.post
        self.hiding = NOTHING_HIDDEN
        self._clock = clock

    def close(self) -> None:
        self.post.close()
        self.store.close()

    @property
    def now(self) -> int:
        return self._clock()

    @property
    def definitions(self) -> Definitions:
        return self.catalog.view().definitions

    @property
    def known_definitions(self) -> Definitions:
        return self.catalog.last_seen.definitions

    def deploy(self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT) -> Deployment | Refusal:
        deployed = self.catalog.deploy(resources, tenant_id, self.now)
        if not isinstance(deployed, Refusal) and any(process.is_new for process in deployed.processes):
            self.look_around()
        return deployed

    def look_around(self) -> list[Peeked]:
        """What each shard has to do that nobody has asked for.

        Start timers that are missing are scheduled, on the shard of each process, once for each version.
        """
        peeked = [self._peek(shard) for shard in range(self.shard_count)]
        view = self.catalog.view()
        for shard, seen in enumerate(peeked):
            if seen.scheduled_up_to < view.version:
                self.post.run(shard, starts_to_schedule(shard, seen.scheduled_up_to, view, self.shard_count))
        return peeked

    @cached_property
    def homes(self) -> KeyHomes:
        """Every shard knows; one that is damaged need not be asked."""
        for shard in range(self.shard_count - 1):
            try:
                with self.post.look(shard) as snapshot:
                    return homes_of(snapshot, self.shard_count)
            except StoreDamaged:
                continue
        with self.post.look(self.shard_count - 1) as snapshot:
            return homes_of(snapshot, self.shard_count)

    def ask(self, shard: int, request: Request) -> Reply:
        return self.carrier.ask(shard, request)

    def tick(self) -> int:
        peeked = self.look_around()
        receivers = sorted({receiver for seen in peeked for receiver in seen.receivers})
        if receivers:
            self.post.deliver(receivers)
            self.post.forget_delivered()
        if not receivers and not any(seen.due for seen in peeked):
            return 0
        return sum(self._sweep(shard, Sweep(kind)) for kind in KINDS for shard in range(self.shard_count))

    def _peek(self, shard: int) -> Peeked:
        with self.post.look(shard) as snapshot:
            return peek(snapshot, self.now)

    def _sweep(self, shard: int, sweep: Sweep) -> int:
        happened = 0
        while True:
            swept = self.post.ask(shard, sweep).swept
            happened += swept
            if swept < sweep.limit:
                return happened

    def ready_jobs(self, type_: str, limit: int, tenant_ids: Sequence[str]) -> list[ReadyJob]:
        found = []
        for shard in range(self.shard_count):
            with self.post.look(shard) as snapshot:
                for tenant_id in tenant_ids:
                    ready = snapshot.ready_jobs(tenant_id, type_, limit)
                    found += [ReadyJob(rank_of(job.key), shard, tenant_id) for job in ready]
        return found

    def late_answer(self, shard: int, message_key: int) -> e.Event:
        """It is held behind an answer that lies in an outbox, perhaps of a process that died or is slow."""
        until = monotonic() + LATE_S
        while True:
            self.carrier.deliver()
            with self.post.look(shard) as snapshot:
                answer = stored_answer(snapshot, message_key, self.catalog.view())
            if answer is not None:
                return answer
            if monotonic() > until:
                raise StoreFailed(f"message {message_key} was accepted, but nobody has answered it yet")
            sleep(_PAUSE_S)

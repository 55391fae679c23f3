"""The service: everything a client can do, as async methods. gRPC and REST are thin layers over it.

It answers with the runtime's values, or with a `Refusal`; a business no is never raised. Failures are raised as
`ConjoinError`. Nothing here blocks the event loop: requests go to the threads of the shards, and reads of the store go
to a few reader threads: searches (`look`) apart from lookups by key (`look_up`).
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from typing import Concatenate, NamedTuple, ParamSpec, TypeVar

from conjoin import __version__
from conjoin.gateway.dispatch import Dispatcher
from conjoin.gateway.jobs.dispatcher import JobDispatcher
from conjoin.gateway.jobs.instance_results import InstanceResults
from conjoin.gateway.memory_budget import MemoryBudget
from conjoin.gateway.monitoring.tracing import noted
from conjoin.gateway.readers import Readers
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import ActivatedJob, Deployment, Done, InstanceResult, PublishedMessage
from conjoin.runtime.client_api.answers import Refusal as Refusal
from conjoin.runtime.client_api.calls import Call, NewInstance
from conjoin.runtime.client_api.calls import Calls as Calls
from conjoin.runtime.client_api.jobs import JobsWanted
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.engine.catalog import DEFAULT_TENANT
from conjoin.runtime.explain.explain import NamedExplanation, explain_named
from conjoin.runtime.explain.kept.replacing import note_replaced, unreplaceable
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.run.batches import Commit as Commit
from conjoin.runtime.run.carriers.shard_threads import ShardThreads
from conjoin.runtime.upkeep.erase import erase_payload

_P = ParamSpec("_P")
_A = TypeVar("_A")
BULK_AT_ONCE = 1_000
"""So many messages of a bulk publish are under way at a time."""
BROKER_HOST, BROKER_PORT = "0.0.0.0", 26501
"""Clients print them, and connect to the gateway that they know already."""


@dataclass(frozen=True, slots=True)
class ServerLimits:
    """Settings of `[server.limits]`, described there. More is refused (RESOURCE_EXHAUSTED) before memory grows."""

    in_flight: int = 2_000
    bytes_in_flight: int = 256 * 1024 * 1024
    line_bytes: int = 128 * 1024 * 1024
    waiting: int = 10_000
    bulks: int = 4
    readers: int = 4
    """Threads for searches; lookups by key, and writes, have two each."""
    looks: int = 1_000
    list_time_ms: int = 3_000
    request_timeout_ms: int = 15_000
    long_poll_ms: int = 10_000


class Topology(NamedTuple):
    """One broker, which leads every partition. A partition is a shard, from 1 on."""

    version: str
    partitions: Sequence[int]
    host: str
    port: int


class Service:
    """Made and used inside one event loop. `close` it before the threads of the shards."""

    def __init__(self, broker: Broker, inline: ShardThreads, limits: ServerLimits | None = None) -> None:
        self.broker = broker
        self.limits = limits or ServerLimits()
        self.inbox: Inbox | None = None
        """If one is configured; to be used in `look`."""
        self.memory = MemoryBudget(self.limits.bytes_in_flight)
        self.line_memory = MemoryBudget(self.limits.line_bytes)
        most = self.limits.looks
        self._searches = Readers("search", self.limits.readers, most)
        self._lookups, self._writers = Readers("lookup", 2, most), Readers("writer", 2, most)
        self._dispatcher = Dispatcher(inline, self.look_up, self.limits.in_flight, self.limits.request_timeout_ms)
        self._jobs = JobDispatcher(broker, self._dispatcher, self.limits.waiting)
        self._results = InstanceResults(broker, self.look_up, self.limits.waiting)
        self._bulks = asyncio.Semaphore(self.limits.bulks)
        self._inline = inline
        self.listeners: list[Callable[[Commit], None]] = []
        """Called with each commit, in the thread of its shard."""
        # Read here, so that no request has to read the store for it.
        _ = broker.homes
        broker.catalog.view()
        inline.listener = self._committed

    @property
    def under_way(self) -> int:
        """Calls that wait for their commit."""
        return self._dispatcher.under_way

    def _committed(self, commit: Commit) -> None:
        """In the thread of a shard, after each commit."""
        for listener in self.listeners:
            listener(commit)
        ready = {row.type for row in commit.jobs if row.state == "ready"}
        if ready:
            self._dispatcher.bridge.call(self._jobs.ready, ready)
        ended = self._results.awaited_in(commit.ended)
        if ended:
            self._dispatcher.bridge.call(self._results.ended, ended)

    async def call(
        self, call: Callable[Concatenate[Calls, _P], Call[_A]], /, *args: _P.args, **kwargs: _P.kwargs
    ) -> _A | Refusal:
        """One of `Calls`, with its arguments: `service.call(Calls.publish, message)`."""
        return noted(args[0], await self._dispatcher.call(call(self.broker.calls, *args, **kwargs)))

    async def publish_many(self, messages: Sequence[NewMessage]) -> list[PublishedMessage | Refusal]:
        """Each by itself, in the given order; only some are under way at a time."""
        answers: list[PublishedMessage | Refusal] = []
        calls = self.broker.calls
        async with self._bulks:
            for begin in range(0, len(messages), BULK_AT_ONCE):
                some = messages[begin : begin + BULK_AT_ONCE]
                answers += await self._dispatcher.call_many([calls.publish(message) for message in some])
        return answers

    async def rehearse(self, message: NewMessage) -> NamedExplanation | Refusal:
        """A dry run: what would become of the message, and what became of those like it."""
        return await self.look(explain_named, self.broker, message)

    async def erase_payload(self, message_key: int) -> Done | Refusal:
        """Of a message that is over. Its verdict is kept."""
        return await self.carry_out(erase_payload, self.broker, message_key)

    async def unreplaceable(self, message_key: int, tenant_id: str) -> Refusal | None:
        """Why no message can be sent in place of this one; asked before it is sent."""
        return await self.look_up(unreplaceable, self.broker, message_key, tenant_id)

    async def note_replaced(self, message_key: int, by: int, message: NewMessage) -> None:
        """A message was published in place of another, which was `unreplaceable` for no reason."""
        await self.carry_out(note_replaced, self.broker, message_key, by, message.key)

    async def deploy(
        self, resources: Sequence[tuple[str, bytes]], tenant_id: str = DEFAULT_TENANT
    ) -> Deployment | Refusal:
        """Files by name; all of them or none."""
        return await self.carry_out(self.broker.deploy, resources, tenant_id)

    async def create_with_result(
        self, new: NewInstance, timeout_ms: int = 0, fetch: Sequence[str] = ()
    ) -> InstanceResult | Refusal:
        """Answered when the instance has completed, with all variables or those of `fetch`. 0: the default timeout."""
        if self._results.is_full:
            return self._dispatcher.exhausted()
        created = await self.call(Calls.create_instance, new)
        if isinstance(created, Refusal):
            return created
        return await self._results.of(created, timeout_ms if timeout_ms > 0 else self.limits.request_timeout_ms, fetch)

    async def activate_jobs(self, wanted: JobsWanted, wait_ms: int = 0) -> list[ActivatedJob] | Refusal:
        """The oldest jobs, or the first to become ready. 0: the default timeout; negative: no wait at all."""
        return await self._jobs.poll(wanted, wait_ms if wait_ms else self.limits.long_poll_ms)

    def stream_jobs(self, wanted: JobsWanted) -> AsyncIterator[ActivatedJob] | Refusal:
        """Jobs as they become ready, until the iterator is closed (`aclose`) or the service is."""
        return self._jobs.stream(wanted)

    def topology(self) -> Topology:
        return Topology(__version__, range(1, self.broker.shard_count + 1), BROKER_HOST, BROKER_PORT)

    async def look(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        """Run something that searches the store: lists, `explain`, pages. It has a timeout, and can be cancelled."""
        return await self._searches.read(lambda: function(*args, **kwargs), *self._times)

    async def look_up(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        """The same for a lookup by key. It does not wait for searches."""
        return await self._lookups.read(lambda: function(*args, **kwargs), *self._times)

    async def carry_out(self, function: Callable[_P, _A], *args: _P.args, **kwargs: _P.kwargs) -> _A:
        """Run something that writes, without a timeout: it is never reported as failed while it goes on."""
        return await self._writers.write(lambda: function(*args, **kwargs))

    @property
    def _times(self) -> tuple[float, float]:
        timeout_ms = self.limits.request_timeout_ms
        return timeout_ms / 1_000, min(self.limits.list_time_ms, timeout_ms // 2) / 1_000

    def stop_waiting(self) -> None:
        """Open polls are answered empty, streams end, and nobody waits for memory. Everything else still works."""
        self.line_memory.close()
        self._jobs.close()
        self._results.close()

    async def close(self) -> None:
        """Requests under way are still answered."""
        self.stop_waiting()
        await self._dispatcher.settled()
        self._inline.listener = None
        for readers in (self._searches, self._lookups, self._writers):
            readers.close()

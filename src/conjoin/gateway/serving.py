"""One process that serves: the store, a thread a shard, sweeps, the inbox's schedule, gRPC and REST in one event loop.

It stops in the order that loses nothing: health says so first, open polls are answered, requests that were let in get
their answer, and only then are the threads and the store closed.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from conjoin.gateway.grpc.server import GrpcServer
from conjoin.gateway.guard import Guard, allow_all
from conjoin.gateway.http.edge import Hosts, names_in_certificate
from conjoin.gateway.http.server import RestServer
from conjoin.gateway.monitoring.health import Health
from conjoin.gateway.monitoring.metrics import Metrics
from conjoin.gateway.monitoring.traced_edges import GrpcSpans, RestSpans
from conjoin.gateway.monitoring.tracing import Tracing
from conjoin.gateway.open_files import on_loop_error, raise_limit
from conjoin.gateway.rest.app import Pages, make_app
from conjoin.gateway.security.configuration import ServerTls
from conjoin.gateway.security.guarding import SecurityGuard
from conjoin.gateway.service import ServerLimits, Service
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.schedule import InboxSchedule
from conjoin.runtime.notices import Notifier, Receiver
from conjoin.runtime.run.carriers.shard_threads import ShardThreads, shard_threads
from conjoin.runtime.upkeep.garbage_collection import short_pauses
from conjoin.runtime.upkeep.retention import KEEP_EVERYTHING, KeepFor
from conjoin.runtime.upkeep.supervision import Repeating, supervised
from conjoin.runtime.upkeep.sweeper import Sweeper

GRACE_S = 10.0
INBOX_EVERY_S = 0.5
NOTICES_EVERY_S = 5.0
HOLDING_EVERY_S = 1.0
HEALTH_EVERY_S = 1.0


@dataclass(frozen=True, slots=True)
class Served:
    """What is served, and where. A port of 0 is a free one."""

    host: str = "127.0.0.1"
    grpc_port: int = 26500
    rest_port: int = 8080
    keep_for: KeepFor = KEEP_EVERYTHING
    inbox: Configuration | None = None
    receivers: Sequence[Receiver] = ()
    """Who is told of what went wrong with messages."""
    guard: Guard = allow_all
    tls: ServerTls | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    sweep_every_s: float = 0.5
    """Timers are so late at most."""
    pages: Pages | None = None
    beside: Callable[[Service], Coroutine[Any, Any, None]] | None = None
    """What goes on in the same loop from when it is ready until it stops."""
    traces: Tracing | None = None
    hosts: Sequence[str] = ()
    """Names that clients may call it by, beside its own."""


class Addresses(NamedTuple):
    """Where it listens."""

    host: str
    grpc_port: int
    rest_port: int


def serve(broker: Broker, served: Served, tell: Callable[[Addresses], None]) -> None:
    """Until SIGTERM or SIGINT. `tell` is called when everything is ready."""
    with (
        short_pauses(),
        at_work(broker, served) as runner,
        _inbox_at_work(broker, served.inbox) as inbox,
        _notices_at_work(broker, served.receivers),
        _holding(broker),
    ):

        def make_service() -> Service:
            service = Service(broker, runner, served.limits)
            service.inbox = inbox
            return service

        raise_limit()
        asyncio.run(_until_told_to_stop(make_service, served, tell))


@contextmanager
def at_work(broker: Broker, served: Served) -> Iterator[ShardThreads]:
    """A thread a shard, and one that lets happen what falls due."""
    with shard_threads(broker) as runner:
        sweeper = Sweeper(broker, runner, served.sweep_every_s, served.keep_for)
        sweeper.start()
        try:
            yield runner
        finally:
            sweeper.stop()


@contextmanager
def _inbox_at_work(broker: Broker, configuration: Configuration | None) -> Iterator[Inbox | None]:
    """Its runs and cleanups, when their time has come."""
    if configuration is None:
        yield None
        return
    with closing(Inbox(broker, *configuration)) as inbox:
        thread = Repeating("inbox", InboxSchedule(inbox).step, INBOX_EVERY_S, broker.supervisor)
        thread.start()
        try:
            yield inbox
        finally:
            thread.stop()


@contextmanager
def _notices_at_work(broker: Broker, receivers: Sequence[Receiver]) -> Iterator[None]:
    if not receivers:
        yield
        return
    thread = Repeating("notices", Notifier(broker, receivers).round, NOTICES_EVERY_S, broker.supervisor)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


@contextmanager
def _holding(broker: Broker) -> Iterator[None]:
    """The store stays held, also while nobody writes: a reshard that begins then would not know of us."""
    thread = Repeating("holding", broker.store.check_held, HOLDING_EVERY_S, broker.supervisor, critical=True)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


async def _until_told_to_stop(
    make_service: Callable[[], Service], served: Served, tell: Callable[[Addresses], None]
) -> None:
    asyncio.get_running_loop().set_exception_handler(on_loop_error)
    told = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, told.set)
    service = make_service()
    async with edges(service, served) as addresses:
        tell(addresses)
        async with _beside(service, served):
            await told.wait()


@asynccontextmanager
async def _beside(service: Service, served: Served) -> AsyncIterator[None]:
    if served.beside is None:
        yield
        return
    beside, supervisor = served.beside, service.broker.supervisor
    task = asyncio.create_task(supervised(supervisor.job("beside"), lambda: beside(service)))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


@asynccontextmanager
async def _telling_health(server: GrpcServer, health: Health, service: Service) -> AsyncIterator[None]:
    """gRPC says the same as REST: it is looked every second."""

    async def tell() -> None:
        while True:
            report = await health.report()
            await server.report(report["status"] == "UP")
            job.succeeded()
            await asyncio.sleep(HEALTH_EVERY_S)

    job = service.broker.supervisor.job("health", HEALTH_EVERY_S)
    task = asyncio.create_task(supervised(job, tell))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        service.broker.supervisor.over(job)


@asynccontextmanager
async def edges(service: Service, served: Served) -> AsyncIterator[Addresses]:
    """gRPC and REST in the running loop; at the end nobody who was let in is left without an answer."""
    stopping = asyncio.Event()
    metrics = Metrics(service.broker, service.inbox)
    if isinstance(served.guard, SecurityGuard):
        served.guard.count_failures(metrics.auth_failed)
    traces = served.traces
    health = Health(service.broker, lambda: not stopping.is_set())
    grpc_server = GrpcServer(service, metrics, served.guard, [GrpcSpans(traces)] if traces else ())
    app = make_app(
        *(service, served.guard, lambda: not stopping.is_set(), metrics, served.pages), _hosts(served), health
    )
    rest_server = RestServer(
        RestSpans(app, traces) if traces else app, served.tls.http_options() if served.tls else None
    )
    try:
        credentials = served.tls.grpc_credentials() if served.tls else None
        grpc_port = await grpc_server.start(served.host, served.grpc_port, credentials)
        rest_port = await rest_server.start(served.host, served.rest_port)
        async with _telling_health(grpc_server, health, service):
            yield Addresses(served.host, grpc_port, rest_port)
    finally:
        stopping.set()
        health.close()
        await grpc_server.report_shutdown()
        service.stop_waiting()
        await asyncio.gather(grpc_server.stop(GRACE_S), rest_server.stop(GRACE_S))
        await service.close()
        if traces:
            traces.close()


def _hosts(served: Served) -> Hosts:
    named = names_in_certificate(served.tls.certificate) if served.tls else ()
    return Hosts(served.hosts, [served.host, *named])

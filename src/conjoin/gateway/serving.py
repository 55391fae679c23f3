"""One process that serves: the store, a thread for each shard, background jobs, gRPC and REST in one event loop.

It stops in the order that loses nothing: health reports it first, open polls are answered, requests that were admitted
get their answer, and only then are the threads and the store closed.
"""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Sequence
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
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
from conjoin.runtime.run.carriers.shard_threads import ANSWER_S, ShardThreads, shard_threads
from conjoin.runtime.upkeep.garbage_collection import short_pauses
from conjoin.runtime.upkeep.retention import KEEP_EVERYTHING, KeepFor
from conjoin.runtime.upkeep.supervision import Repeating, SupervisedJob, Supervisor, supervised
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
    """Of notices about messages that expired, were discarded or parked."""
    guard: Guard = allow_all
    tls: ServerTls | None = None
    limits: ServerLimits = field(default_factory=ServerLimits)
    sweep_every_s: float = 0.5
    """Timers are at most so late."""
    pages: Pages | None = None
    beside: Callable[[Service], Coroutine[Any, Any, None]] | None = None
    """Runs in the same loop while it is ready."""
    traces: Tracing | None = None
    hosts: Sequence[str] = ()
    """Names that clients may use for it, in addition to its own."""
    make_inbox: Callable[[Broker, Configuration], Inbox] = lambda broker, its: Inbox(broker, *its)
    """The schedule of the inbox runs in this process, unless another one is made."""


class Addresses(NamedTuple):
    host: str
    grpc_port: int
    rest_port: int


def serve(broker: Broker, served: Served, on_ready: Callable[[Addresses], None]) -> None:
    """Until SIGTERM or SIGINT. `on_ready` is called when everything is ready."""
    with short_pauses(), at_work(broker, served) as runner, ExitStack() as stack:
        inbox = None
        if served.inbox is not None:
            inbox = stack.enter_context(closing(served.make_inbox(broker, served.inbox)))
            stack.enter_context(_repeating(broker, "inbox", InboxSchedule(inbox).step, INBOX_EVERY_S))
        if served.receivers:
            notifier = Notifier(broker, served.receivers)
            stack.enter_context(_repeating(broker, "notices", partial(_notify, notifier, broker), NOTICES_EVERY_S))
        # The store stays held also while nothing is written: a reshard that begins then would not know of us.
        stack.enter_context(_repeating(broker, "holding", broker.store.check_held, HOLDING_EVERY_S, critical=True))

        def make_service() -> Service:
            service = Service(broker, runner, served.limits)
            service.inbox = inbox
            return service

        raise_limit()
        asyncio.run(_until_stopped(make_service, served, on_ready))


@contextmanager
def at_work(broker: Broker, served: Served) -> Iterator[ShardThreads]:
    """A thread for each shard, and one for timers, expiries and retention."""
    with shard_threads(broker) as runner:
        runner.timeout_s = ANSWER_S
        sweeper = Sweeper(broker, runner, served.sweep_every_s, served.keep_for)
        sweeper.start()
        try:
            yield runner
        finally:
            sweeper.stop()


def _notify(notifier: Notifier, broker: Broker) -> None:
    """A receiver that does not accept is no failure of the round: the others go on, and it is reported apart."""
    notifier.round()
    broker.supervisor.refused_notices = dict(notifier.refusing)


@contextmanager
def _repeating(
    broker: Broker, name: str, step: Callable[[], object], every_s: float, critical: bool = False
) -> Iterator[None]:
    thread = Repeating(name, step, every_s, broker.supervisor, critical=critical)
    thread.start()
    try:
        yield
    finally:
        thread.stop()


async def _until_stopped(
    make_service: Callable[[], Service], served: Served, on_ready: Callable[[Addresses], None]
) -> None:
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    loop.set_exception_handler(on_loop_error)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stopped.set)
    service = make_service()
    async with edges(service, served) as addresses, AsyncExitStack() as stack:
        on_ready(addresses)
        if (beside := served.beside) is not None:
            supervisor = service.broker.supervisor
            await stack.enter_async_context(_task(supervisor, supervisor.job("beside"), lambda: beside(service)))
        await stopped.wait()


@asynccontextmanager
async def _task(
    supervisor: Supervisor, job: SupervisedJob, work: Callable[[], Coroutine[Any, Any, None]]
) -> AsyncIterator[None]:
    task = asyncio.create_task(supervised(job, work))
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        supervisor.over(job)


@asynccontextmanager
async def edges(service: Service, served: Served) -> AsyncIterator[Addresses]:
    """gRPC and REST in the running loop; at the end every request that was admitted is still answered."""
    stopping = asyncio.Event()
    metrics = Metrics(service.broker, service.inbox)
    if isinstance(served.guard, SecurityGuard):
        served.guard.count_failures(metrics.auth_failed)
    traces = served.traces
    named = names_in_certificate(served.tls.certificate) if served.tls else ()
    hosts = Hosts(served.hosts, [served.host, *named])
    health = Health(service.broker, lambda: not stopping.is_set())
    grpc_server = GrpcServer(service, metrics, served.guard, [GrpcSpans(traces)] if traces else ())
    app = make_app(*(service, served.guard, lambda: not stopping.is_set(), metrics, served.pages), hosts, health)
    tls_options = served.tls.http_options() if served.tls else None
    rest_server = RestServer(RestSpans(app, traces) if traces else app, tls_options)
    supervisor = service.broker.supervisor

    async def report_health() -> None:
        while True:
            await grpc_server.report((await health.report())["status"] == "UP")
            job.succeeded()
            await asyncio.sleep(HEALTH_EVERY_S)

    try:
        credentials = served.tls.grpc_credentials() if served.tls else None
        grpc_port = await grpc_server.start(served.host, served.grpc_port, credentials)
        rest_port = await rest_server.start(served.host, served.rest_port)
        job = supervisor.job("health", HEALTH_EVERY_S)
        async with _task(supervisor, job, report_health):
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

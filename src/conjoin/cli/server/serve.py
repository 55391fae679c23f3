"""conjoin serve: the gateway in one process, for clients that speak to Zeebe."""

import os
from contextlib import closing
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjoin.cli.commands import importing
from conjoin.cli.configuration import inbox_of_settings, keep_for, receivers_of_settings, security_of_settings
from conjoin.cli.inbox_engine import ENGINE, inbox_maker, inline
from conjoin.cli.invocation import STORE, CommandCall, command
from conjoin.cli.printing import complain, shown
from conjoin.cli.store.init import create
from conjoin.errors import ConjoinError, ExtraMissing, InputError, StoreMissing
from conjoin.logs import configure
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker
from conjoin.settings import SETTINGS, load

if TYPE_CHECKING:
    from conjoin.demo.opening import Demo
    from conjoin.gateway.security.configuration import Security
    from conjoin.gateway.serving import Addresses

_ZBCTLS_OWN = "127.0.0.1:26500"
"""Where zbctl looks by default."""
_OPEN_DOOR = (
    "--host {}: other machines can reach it, and anybody there could do anything, or read along: set tls and callers"
    " in [security] of conjoin.toml, listen on 127.0.0.1, or use --insecure if that is intended"
)

_ADDRESSES = ("grpc_port", "rest_port", "host", "insecure", "allowed_hosts", "read_only_console")
_FLAGS = {
    **dict.fromkeys(_ADDRESSES, "Addresses"),
    **dict.fromkeys(ENGINE, "Inbox on Spark"),
    **dict.fromkeys(("log_level", "log_format", "traces"), "Log and traces"),
    **dict.fromkeys((name for name in SETTINGS if name.startswith("limit_")), "Timeouts and limits"),
}


@command(
    STORE | _FLAGS,
    "conjoin serve",
    "conjoin serve --demo",
    "conjoin serve --data /var/lib/orders --grpc-port 26500 --rest-port 8080",
    "conjoin serve --store postgresql://conjoin@db/orders",
    json="",
)
def serve(
    call: CommandCall,
    demo: Annotated[bool, typer.Option("--demo", help="A demo shop with live traffic, in a store of its own.")] = False,
) -> None:
    """Serve gRPC, REST and the web console for curl, the Camunda SDKs and zbctl.

    If there is no store, it creates one. Timers, retention, notices and the inbox run in the background. Ctrl-C or
    SIGTERM stops it; what was answered by then is durable. The schedule of the inbox runs on Spark where
    --engine says so, or a master is set. Every option is also a variable (CONJOIN_HOST for --host) and a key in
    conjoin.toml.
    """
    settings = call.settings
    configure(settings.log_level, settings.log_format)
    # What gRPC itself prints bypasses the log, without a limit.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    kept, receivers = keep_for(), receivers_of_settings()
    try:
        with importing():
            from conjoin.console.app import console_routes
            from conjoin.gateway import serving
            from conjoin.gateway.http.edge import checked
            from conjoin.gateway.monitoring.tracing import begin
            from conjoin.gateway.service import ServerLimits
    except ImportError as error:
        raise ExtraMissing("conjoin serve", error.name or "grpcio", "server") from None
    security, hosts = security_of_settings(), checked(settings.allowed_hosts)
    traces, host = begin(settings.traces, os.environ), settings.host
    if not (settings.insecure or _is_loopback(host) or security.is_closed):
        raise InputError([_OPEN_DOOR.format(host)])
    shop = _shop(call, host, settings.rest_port) if demo else None
    address = shop.address if shop else call.address
    inbox = shop.inbox if shop else inbox_of_settings()
    # The shop of the demo is small, and wants to be open at once.
    make_inbox = inline if shop or inbox is None else inbox_maker(call)
    broker = shop.broker if shop else _opened(address)
    broker.hiding = security.hiding
    served = serving.Served(
        *(host, settings.grpc_port, shop.rest_port if shop else settings.rest_port, kept, inbox, receivers),
        guard=security.guard,
        tls=security.tls,
        limits=ServerLimits(**settings.limits),
        pages=partial(console_routes, read_only=settings.read_only_console),
        traces=traces,
        hosts=hosts,
        beside=shop.story.live if shop else None,
        make_inbox=make_inbox,
    )

    def ready(addresses: "Addresses") -> None:
        zbctl, rest = _print_addresses(addresses, broker, address, security)
        next_steps = shop.what_to_try(rest, zbctl) if shop else [f"Next: {zbctl} deploy resource order.bpmn"]
        typer.echo("\n".join(next_steps))

    with closing(broker), broker.store.held("conjoin serve"):
        _report_broken_shards(broker)
        serving.serve(broker, served, ready)
    typer.echo("stopped")


def _report_broken_shards(broker: Broker) -> None:
    """A broken shard does not keep the others from being served; without any there is nothing to serve."""
    broker.store.lists_go_on = True
    failed: list[ConjoinError] = []
    for shard in range(broker.shard_count):
        try:
            with broker.post.look(shard):
                pass
        except ConjoinError as error:
            failed.append(error)
            complain(f"shard {shard} is not served: {error}")
    if len(failed) == broker.shard_count:
        raise failed[0]


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _shop(call: CommandCall, host: str, rest_port: int) -> "Demo":
    from conjoin.demo.opening import open_demo

    if call.store is not None:
        raise InputError(["--demo has a data directory of its own: leave --store away"])
    return open_demo(call.data, host, rest_port)


def _opened(address: str | Path) -> Broker:
    """A data directory without a store gets one, so that one command is enough; a database is prepared by `init`."""
    try:
        return open_broker(address)
    except StoreMissing:
        if isinstance(address, str):
            raise
    settings = load()
    broker = create(settings, address, None)
    typer.echo(f"made a store in {address}: {broker.shard_count} shards, profile {settings.profile}")
    return broker


def _print_addresses(
    addresses: "Addresses", broker: Broker, address: str | Path, security: "Security"
) -> tuple[str, str]:
    """How zbctl and REST clients find it."""
    host = f"[{addresses.host}]" if ":" in addresses.host else addresses.host
    grpc, rest = f"{host}:{addresses.grpc_port}", f"http{'s' if security.tls else ''}://{host}:{addresses.rest_port}"
    how = f"--certPath {security.tls.certificate}" if security.tls else "--insecure"
    zbctl = f"zbctl {how}" if grpc == _ZBCTLS_OWN else f"zbctl {how} --address {grpc}"
    if security.authenticates:
        callers = "token or password"
    elif security.tls is not None and security.tls.clients is not None:
        callers = f"client certificates of {security.tls.clients}"
    else:
        is_local = _is_loopback(addresses.host)
        callers = "off (loopback only)" if is_local else "OFF, and other machines reach it (--insecure)"
    for line in (
        f"serving {shown(address)} ({broker.shard_count} partitions)",
        f"  gRPC  {grpc}   {zbctl} status",
        f"  REST  {rest}   curl {rest}/v2/topology",
        f"  open  {rest}/   what waits, what happened, and why",
        f"  auth  {callers}",
    ):
        typer.echo(line)
    return zbctl, rest

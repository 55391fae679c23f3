"""conjoin serve: the gateway in one process, for clients that speak to Zeebe."""

import os
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjoin.cli.compact import keep_for
from conjoin.cli.init import FEWEST_SHARDS
from conjoin.cli.store_option import Data, StoreUrl, address_of, shown
from conjoin.errors import ExtraMissing, InputError, PolicyError, SettingsError, StoreMissing
from conjoin.kernel.policies import read_policies
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration, read_configuration
from conjoin.runtime.notices import read_receivers
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.settings import load, place_of

if TYPE_CHECKING:
    from conjoin.gateway.serving import Addresses

_PORTS = {"min": 0, "max": 65_535}
_PANEL = "Addresses"
_ZBCTLS_OWN = "127.0.0.1:26500"
"""Where zbctl looks when nobody tells it."""
_OPEN_DOOR = (
    "--host {}: other machines reach it, and anybody there could do anything; say --insecure if that is meant,"
    " or listen on 127.0.0.1"
)

GrpcPort = Annotated[
    int, typer.Option("--grpc-port", **_PORTS, help="For Zeebe's clients; 0 is a free one.", rich_help_panel=_PANEL)
]
RestPort = Annotated[
    int, typer.Option("--rest-port", **_PORTS, help="For REST and people; 0 is a free one.", rich_help_panel=_PANEL)
]
Host = Annotated[str, typer.Option("--host", metavar="ADDRESS", help="Where to listen.", rich_help_panel=_PANEL)]
Insecure = Annotated[
    bool,
    typer.Option("--insecure", help="Let anybody who reaches the address do anything.", rich_help_panel=_PANEL),
]
ReadOnlyConsole = Annotated[
    bool, typer.Option("--read-only-console", help="The console at / only shows; no form of it is taken.")
]


def serve(
    grpc_port: GrpcPort = 26500,
    rest_port: RestPort = 8080,
    host: Host = "127.0.0.1",
    insecure: Insecure = False,
    read_only_console: ReadOnlyConsole = False,
    data: Data = None,
    store: StoreUrl = None,
) -> None:
    """Serve gRPC and REST, so that zbctl, the Camunda SDKs and curl find an engine here.

    Without a store it makes one. What falls due happens by itself, and so do the runs of the inbox, if conjoin.toml has
    one. Ctrl-C or SIGTERM ends it; whoever has an answer by then can rely on it.

    [bold]Examples[/bold]

      conjoin serve

      conjoin serve --data /var/lib/orders --grpc-port 26500 --rest-port 8080

      conjoin serve --store postgresql://conjoin@db/orders
    """
    if not insecure and not _is_loopback(host):
        raise InputError([_OPEN_DOOR.format(host)])
    kept, inbox, receivers = keep_for(), _inbox(), read_receivers(load().notify)
    try:
        from conjoin.console.app import console_routes
        from conjoin.gateway import serving
    except ImportError as error:
        raise ExtraMissing("conjoin serve", error.name or "grpcio", "server") from None
    address = address_of(data, store)
    broker = _opened(address)
    pages = partial(console_routes, read_only=read_only_console)
    served = serving.Served(host, grpc_port, rest_port, kept, inbox, receivers, pages=pages)
    try:
        serving.serve(broker, served, lambda addresses: _tell(addresses, broker, address))
    finally:
        broker.close()
    typer.echo("stopped")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _inbox() -> Configuration | None:
    section = load().inbox
    try:
        return read_configuration(section, os.environ) if section else None
    except SettingsError as error:
        raise SettingsError([f"{place_of('inbox')}: {problem}" for problem in error.problems]) from None


def _opened(address: str | Path) -> Broker:
    """A data directory without a store gets one, so that one command is enough; a database is prepared by `init`."""
    try:
        return open_broker(address)
    except StoreMissing:
        if isinstance(address, str):
            raise
    settings = load()
    problems = read_policies(settings.profile, settings.policies)[1]
    if problems:
        raise PolicyError(problems)
    shards = max(os.cpu_count() or 1, FEWEST_SHARDS)
    broker = create_broker(address, shards, profile=settings.profile)
    for name, answers in settings.policies.items():
        broker.catalog.set_policy(name, answers, broker.now)
    typer.echo(f"made a store in {address}: {shards} shards, profile {settings.profile}")
    return broker


def _tell(addresses: "Addresses", broker: Broker, address: str | Path) -> None:
    host = f"[{addresses.host}]" if ":" in addresses.host else addresses.host
    grpc, rest = f"{host}:{addresses.grpc_port}", f"http://{host}:{addresses.rest_port}"
    zbctl = "zbctl --insecure" if grpc == _ZBCTLS_OWN else f"zbctl --insecure --address {grpc}"
    for line in (
        f"serving {shown(address)} ({broker.shard_count} partitions)",
        f"  gRPC  {grpc}   {zbctl} status",
        f"  REST  {rest}   curl {rest}/v2/topology",
        f"  open  {rest}/   what waits, what happened, and why",
        f"Next: {zbctl} deploy resource order.bpmn",
    ):
        typer.echo(line)

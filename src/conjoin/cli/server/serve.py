"""conjoin serve: the gateway in one process, for clients that speak to Zeebe."""

import os
from contextlib import closing
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from conjoin.cli.importing import importing
from conjoin.cli.logging_setup import set_up_logging
from conjoin.cli.printing import complain
from conjoin.cli.setting_options import with_settings
from conjoin.cli.store.compact import keep_for
from conjoin.cli.store.init import FEWEST_SHARDS
from conjoin.cli.store_option import Data, StoreUrl, address_of, shown
from conjoin.errors import ConjoinError, ExtraMissing, InputError, PolicyError, SettingsError, StoreMissing
from conjoin.kernel.policies import read_policies
from conjoin.runtime.broker import Broker
from conjoin.runtime.inbox.configuration import Configuration, read_configuration
from conjoin.runtime.notices import read_receivers
from conjoin.runtime.opening import create_broker, open_broker
from conjoin.settings import SETTINGS, Settings, load, place_of

if TYPE_CHECKING:
    from conjoin.demo.opening import Demo
    from conjoin.gateway.security.configuration import Security
    from conjoin.gateway.serving import Addresses

_ZBCTLS_OWN = "127.0.0.1:26500"
"""Where zbctl looks when nobody tells it."""
_OPEN_DOOR = (
    "--host {}: other machines can reach it, and anybody there could do anything, or read along: set tls and callers"
    " in [security] of conjoin.toml, listen on 127.0.0.1, or use --insecure if that is intended"
)

_ADDRESSES, _LOG, _LIMITS = "Addresses", "Log and traces", "Timeouts and limits"
_FLAGS = {
    **dict.fromkeys(("grpc_port", "rest_port", "host", "insecure", "allowed_hosts", "read_only_console"), _ADDRESSES),
    **dict.fromkeys(("log_level", "log_format", "traces"), _LOG),
    **dict.fromkeys((name for name in SETTINGS if name.startswith("limit_")), _LIMITS),
}
ForShow = Annotated[bool, typer.Option("--demo", help="A demo shop with live traffic, in a store of its own.")]


def _serve(settings: Settings, demo: ForShow = False, data: Data = None, store: StoreUrl = None) -> None:
    """Serve gRPC, REST and the web console for curl, the Camunda SDKs and zbctl.

    If there is no store, it creates one. Timers, retention, notices and the inbox run in the background. Ctrl-C or
    SIGTERM stops it; what was answered by then is durable. Every option is also a variable (CONJOIN_HOST for --host)
    and a key in conjoin.toml.

    [bold]Examples[/bold]

      conjoin serve

      conjoin serve --demo

      conjoin serve --data /var/lib/orders --grpc-port 26500 --rest-port 8080

      conjoin serve --store postgresql://conjoin@db/orders
    """
    set_up_logging(settings)
    # What gRPC itself prints bypasses the log, without a limit.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    kept, receivers = keep_for(), read_receivers(settings.notify)
    try:
        with importing():
            from conjoin.console.app import console_routes
            from conjoin.gateway import serving
            from conjoin.gateway.http.hosts import checked
            from conjoin.gateway.monitoring.tracing import begin
            from conjoin.gateway.service import ServerLimits
    except ImportError as error:
        raise ExtraMissing("conjoin serve", error.name or "grpcio", "server") from None
    security, traces, hosts = _security(), begin(settings.traces, os.environ), checked(settings.allowed_hosts)
    host = settings.host
    if not (settings.insecure or _is_loopback(host) or security.is_closed):
        raise InputError([_OPEN_DOOR.format(host)])
    shop = _shop(data, store, host, settings.rest_port) if demo else None
    address = shop.address if shop else address_of(data, store)
    inbox = shop.inbox if shop else _inbox()
    broker = shop.broker if shop else _opened(address)
    broker.hiding = security.hiding
    rest_port = shop.rest_port if shop else settings.rest_port
    served = serving.Served(
        *(host, settings.grpc_port, rest_port, kept, inbox, receivers),
        guard=security.guard,
        tls=security.tls,
        limits=ServerLimits(**settings.limits),
        pages=partial(console_routes, read_only=settings.read_only_console),
        traces=traces,
        hosts=hosts,
        beside=shop.story.live if shop else None,
    )
    with closing(broker), broker.store.held("conjoin serve"):
        _say_what_is_broken(broker)
        serving.serve(broker, served, lambda addresses: _tell(addresses, broker, address, security, demo))
    typer.echo("stopped")


serve = with_settings(**_FLAGS)(_serve)


def _say_what_is_broken(broker: Broker) -> None:
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


def _security() -> "Security":
    from conjoin.gateway.security.configuration import read_security

    try:
        return read_security(load().security)
    except SettingsError as error:
        raise SettingsError([f"{place_of('security')}: security: {problem}" for problem in error.problems]) from None


def _inbox() -> Configuration | None:
    section = load().inbox
    try:
        return read_configuration(section, os.environ) if section is not None else None
    except SettingsError as error:
        raise SettingsError([f"{place_of('inbox')}: {problem}" for problem in error.problems]) from None


def _shop(data: str | None, store: str | None, host: str, rest_port: int) -> "Demo":
    from conjoin.demo.opening import open_demo

    if store is not None:
        raise InputError(["--demo has a data directory of its own: leave --store away"])
    return open_demo(data, host, rest_port)


def _what_to_try(rest: str, zbctl: str) -> list[str]:
    from conjoin.demo.opening import what_to_try

    return what_to_try(rest, zbctl)


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


def _tell(addresses: "Addresses", broker: Broker, address: str | Path, security: "Security", demo: bool) -> None:
    host = f"[{addresses.host}]" if ":" in addresses.host else addresses.host
    grpc, rest = f"{host}:{addresses.grpc_port}", f"http{'s' if security.tls else ''}://{host}:{addresses.rest_port}"
    how = f"--certPath {security.tls.certificate}" if security.tls else "--insecure"
    zbctl = f"zbctl {how}" if grpc == _ZBCTLS_OWN else f"zbctl {how} --address {grpc}"
    for line in (
        f"serving {shown(address)} ({broker.shard_count} partitions)",
        f"  gRPC  {grpc}   {zbctl} status",
        f"  REST  {rest}   curl {rest}/v2/topology",
        f"  open  {rest}/   what waits, what happened, and why",
        f"  auth  {_whom(addresses.host, security)}",
        *(_what_to_try(rest, zbctl) if demo else [f"Next: {zbctl} deploy resource order.bpmn"]),
    ):
        typer.echo(line)


def _whom(host: str, security: "Security") -> str:
    """Who may call."""
    if security.authenticates:
        return "token or password"
    if security.tls is not None and security.tls.clients is not None:
        return f"client certificates of {security.tls.clients}"
    if _is_loopback(host):
        return "off (loopback only)"
    return "OFF, and other machines reach it (--insecure)"

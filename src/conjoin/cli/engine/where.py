"""--data, --store, --server and its credentials: the engine that a command works on, opened for as long as it runs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from conjoin.cli.engine.on_store import OnStore
from conjoin.cli.engine.port import CommandEngine
from conjoin.cli.setting_options import with_options
from conjoin.cli.store_option import opened_broker
from conjoin.errors import InputError
from conjoin.settings import Settings, load

if TYPE_CHECKING:
    from conjoin.client import Client

_FLAGS = {
    **dict.fromkeys(("data", "store"), "Store"),
    **dict.fromkeys(("server", "token", "user", "ca"), "Server"),
}


class Where:
    """What was typed. A store that is named by a flag counts before a server that the settings name."""

    def __init__(self, flags: Mapping[str, Any]) -> None:
        self.data, self.store = flags.get("data"), flags.get("store")
        if "server" in flags and (self.data is not None or self.store is not None):
            raise InputError(["--server and a store are two places: give one of them"])
        self._flags = dict(flags)

    @contextmanager
    def engine(self) -> Iterator[CommandEngine]:
        with self.client() as client:
            if client is not None:
                from conjoin.cli.engine.through_server import ThroughServer

                yield ThroughServer(client)
                return
        with opened_broker(self.data, self.store) as broker:
            yield OnStore(broker)

    @contextmanager
    def client(self) -> Iterator["Client | None"]:
        """Of the server, if commands are to work through one."""
        settings = load(**self._flags)
        if settings.server is None or self.data is not None or self.store is not None:
            yield None
            return
        with _connected(settings, settings.server) as client:
            yield client


def on_engine(function: Callable[..., None]) -> Callable[..., None]:
    """A command that takes `where`, with the options that say it."""
    return with_options(function, "where", _FLAGS, Where)


def _connected(settings: Settings, url: str) -> "Client":
    from conjoin.client import Basic, Bearer, Client, ClientTls, Patience

    if settings.token is not None and settings.user is not None:
        raise InputError(["a token and a user are two ways to call a server: give one of them"])
    credentials: Basic | Bearer | None = Bearer(settings.token) if settings.token is not None else None
    if settings.user is not None:
        password = settings.password or typer.prompt(f"Password of {settings.user}", hide_input=True, err=True)
        credentials = Basic(settings.user, password)
    try:
        tls = None if settings.ca is None else ClientTls(settings.ca)
        return Client(url, credentials, tls, timeout_s=30.0, patience=Patience(attempts=3))
    except OSError as error:
        raise InputError([f"{settings.ca}: cannot be used: {error.strerror or error}"]) from None

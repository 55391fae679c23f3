"""--data and --store: which store a command works on, and the broker or store opened for as long as the command runs.

What neither flag says, the settings `data` and `store` do. A flag counts before them; of the two settings, `store`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from conjoin.errors import InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker
from conjoin.settings import load
from conjoin.store.opening import open_store
from conjoin.store.port import Store

_PANEL = "Store"

Data = Annotated[
    str | None,
    typer.Option(
        "--data",
        metavar="DIR",
        help="Data directory of a store on this machine. Default: conjoin-data",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]
StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="A store on PostgreSQL: postgresql://user@host/database",
        rich_help_panel=_PANEL,
        show_default=False,
    ),
]


def address_of(data: str | None, store: str | None) -> str | Path:
    """What `open_store` and `create_store` take: the URL of a PostgreSQL store, or a data directory."""
    if data is not None and store is not None:
        raise InputError(["--data and --store name two stores: give one of them"])
    settings = load(data=data, store=store)
    if settings.store is None or data is not None:
        return Path(settings.data)
    return settings.store


@contextmanager
def opened_store(data: str | None, store: str | None) -> Iterator[Store]:
    its = open_store(address_of(data, store))
    try:
        yield its
    finally:
        its.close()


@contextmanager
def opened_broker(data: str | None, store: str | None) -> Iterator[Broker]:
    broker = open_broker(address_of(data, store))
    try:
        yield broker
    finally:
        broker.close()


def shown(address: str | Path) -> str:
    """Without the password that a URL may hold."""
    if isinstance(address, Path):
        return str(address)
    parts = urlsplit(address)
    user, _, host = parts.netloc.rpartition("@")
    named = f"{user.partition(':')[0]}@{host}" if user else host
    return f"{parts.scheme}://{named}{parts.path}"

"""--data and --store: which store a command works on, and the broker or store opened for as long as the command runs.

What neither flag says, the settings `data` and `store` do. A flag counts before them; of the two settings, `store`.
"""

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated

import typer

from conjoin.cli.commands import COMMANDS
from conjoin.errors import InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker
from conjoin.runtime.visibility.hiding import NOTHING_HIDDEN, Hiding
from conjoin.settings import load
from conjoin.shown_urls import shown_url
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
    """Held beside others who work on the store, and never beside one who needs it alone."""
    with closing(open_broker(address_of(data, store))) as broker, broker.store.held(_command()):
        broker.hiding = _hiding()
        yield broker


def _command() -> str:
    """How others see who holds the store: the name of the command, and nothing that was typed after it."""
    words = 2 if sys.argv[1:2] and sys.argv[1] in COMMANDS else 1
    return " ".join(("conjoin", *(word for word in sys.argv[1 : words + 1] if not word.startswith("-"))))


def _hiding() -> Hiding:
    """What a server of these settings hides, commands hide, too."""
    names = load().security.get("redact", ())
    return Hiding(name for name in names if isinstance(name, str)) if isinstance(names, list) else NOTHING_HIDDEN


def shown(address: str | Path) -> str:
    """Without the password that a URL may hold."""
    return str(address) if isinstance(address, Path) else shown_url(address)

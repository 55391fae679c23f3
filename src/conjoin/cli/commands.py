"""Every command by its name, and where it is: its module is imported when it is first looked up, not before.

So `conjoin serve` does not wait for what only Spark jobs need, and the names are known without importing anything. Only
the help of `conjoin` itself imports all of them, as it tells the first line of each.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from typing import Any

import typer

from conjoin.cli.importing import importing

PANELS: dict[str, dict[str, str]] = {
    "Messages": {
        "publish": "publish:publish",
        "ingest": "ingest:ingest",
        "correlate-message": "correlate_message:correlate_message",
        "explain": "explain:explain",
        "signal": "signal:signal",
        "inbox": "inbox:app",
    },
    "Processes": {
        "deploy": "deploy:deploy",
        "create": "instances:create",
        "cancel": "instances:cancel",
        "set-variables": "instances:set_variables",
        "resolve": "instances:resolve",
    },
    "Jobs": {
        "activate": "jobs:activate",
        "complete": "jobs:complete",
        "fail": "jobs:fail",
        "throw-error": "jobs:throw_error",
        "update-retries": "jobs:update_retries",
    },
    "The store": {
        "init": "init:init",
        "serve": "serve:serve",
        "status": "status:status",
        "tick": "tick:tick",
        "backup": "backup:backup",
        "restore": "backup:restore",
        "verify": "verify:verify",
        "compact": "compact:compact",
        "reshard": "reshard:reshard",
        "set-aside": "set_aside:app",
        "notices": "notices:app",
        "policy": "policy:app",
        "tokens": "tokens:app",
    },
    "Lists": {
        "messages": "lists:messages",
        "subscriptions": "lists:subscriptions",
        "instances": "lists:instances",
        "incidents": "lists:incidents",
        "jobs": "lists:jobs",
        "dead-letters": "lists:dead_letters",
    },
    "On Spark": {
        "export": "export:export",
        "report": "report:report",
        "replay": "replay:replay",
    },
    "Without a store": {
        "correlate": "correlate:correlate",
        "lint": "lint:lint",
        "scenario": "scenario:app",
    },
}
"""Panel of the help, name, and module of `conjoin.cli` with the function or the group of commands in it."""
_PLACES = {name: (panel, place) for panel, places in PANELS.items() for name, place in places.items()}


class Commands(Mapping[str, Any]):
    """What typer makes of them."""

    def __getitem__(self, name: str) -> Any:
        if name not in _PLACES:
            raise KeyError(name)
        return _made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(_PLACES)

    def __len__(self) -> int:
        return len(_PLACES)


class Conjoin(typer.core.TyperGroup):
    """The group of all commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Commands()  # type: ignore[assignment]


@cache
def _made(name: str) -> Any:
    panel, place = _PLACES[name]
    module, _, attribute = place.partition(":")
    with importing():
        found = getattr(import_module(f"conjoin.cli.{module}"), attribute)
    alone = typer.Typer(rich_markup_mode="rich")
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name, rich_help_panel=panel)
    else:
        alone.command(name, rich_help_panel=panel)(found)
    return typer.main.get_group(alone).commands[name]

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
        "publish": "message.publish:publish",
        "ingest": "spark.ingest:ingest",
        "correlate-message": "message.correlate:correlate_message",
        "explain": "message.explain:explain",
        "signal": "message.signal:signal",
        "inbox": "inbox:app",
    },
    "Processes": {
        "deploy": "model.deploy:deploy",
        "create": "instance:create",
        "cancel": "instance:cancel",
        "set-variables": "instance:set_variables",
        "resolve": "instance:resolve",
    },
    "Jobs": {
        "activate": "job:activate",
        "complete": "job:complete",
        "fail": "job:fail",
        "throw-error": "job:throw_error",
        "update-retries": "job:update_retries",
    },
    "The store": {
        "init": "store.init:init",
        "serve": "server.serve:serve",
        "status": "store.status:status",
        "tick": "store.tick:tick",
        "backup": "store.backup:backup",
        "restore": "store.backup:restore",
        "verify": "store.verify:verify",
        "compact": "store.compact:compact",
        "reshard": "store.reshard:reshard",
        "set-aside": "store.set_aside:app",
        "notices": "server.notices:app",
        "policy": "store.policy:app",
        "tokens": "server.tokens:app",
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
        "export": "spark.export:export",
        "report": "spark.report:report",
        "replay": "spark.replay:replay",
    },
    "Without a store": {
        "correlate": "spark.correlate:correlate",
        "lint": "model.lint:lint",
        "scenario": "model.scenario:app",
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

"""Every command by its name, in groups, and where it is: its module is imported when it is looked up, not before.

So `conjoin serve` does not wait for what only Spark jobs need. The help of a group imports its own commands, to show
the first line of each, and no others. `HIDDEN` has the names from before there were groups.
"""

import gc
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import typer

LIST = "list"
_PROCESSES, _SERVER, _STORE, _SPARK = "Messages and processes", "Server", "Store", "Tables and streams on Spark"


@dataclass(frozen=True)
class Group:
    """Commands by name: each a module of `conjoin.cli` with a function or an app in it, or a group again."""

    help: str
    commands: Mapping[str, "str | Group"]
    panel: str = ""
    without_command: str = ""
    """The command that is meant if none is named."""


def _lists(what: str, **more: str) -> Group:
    text = what.replace("_", " ")
    return Group(f"List {text}.", {LIST: f"lists:list_{what}", **more}, without_command=LIST)


COMMANDS: dict[str, str | Group] = {
    "message": Group(
        "Publish, correlate, explain and list messages; broadcast signals.",
        {
            "publish": "message.publish:publish",
            "correlate": "message.publish:correlate_message",
            "explain": "message.explain:explain",
            LIST: "lists:list_messages",
            "show": "lists:show_message",
            "subscriptions": "lists:list_subscriptions",
            "signal": "message.publish:signal",
        },
        _PROCESSES,
    ),
    "instance": Group(
        "Create, list and cancel process instances; set variables, resolve incidents.",
        {
            "create": "instance:create",
            LIST: "lists:list_instances",
            "cancel": "instance:cancel",
            "set-variables": "instance:set_variables",
            "incidents": "lists:list_incidents",
            "resolve": "instance:resolve",
        },
        _PROCESSES,
    ),
    "job": Group(
        "Activate, complete, fail and list jobs.",
        {
            "activate": "job:activate",
            "complete": "job:complete",
            "fail": "job:fail",
            "throw-error": "job:throw_error",
            "update-retries": "job:update_retries",
            LIST: "lists:list_jobs",
        },
        _PROCESSES,
    ),
    "model": Group(
        "Check, test and deploy BPMN models.",
        {
            "deploy": "model.deploy:deploy",
            LIST: "model.deploy:list_models",
            "lint": "model.lint:lint",
            "scenario": "model.scenario:app",
        },
        _PROCESSES,
    ),
    "inbox": Group(
        "Receive messages, retry them until they are taken, and fix those that are not.",
        {
            "receive": "inbox.receive:receive",
            "run": "inbox.running:run",
            "watch": "inbox.running:watch",
            LIST: "inbox.commands:list_messages",
            "set": "inbox.commands:set_",
            **{
                name: f"inbox.commands:{name}"
                for name in ("show", "correct", "pause", "resume", "retry", "release", "delete")
            },
        },
        _PROCESSES,
    ),
    "serve": "server.serve:serve",
    "tokens": Group(
        "Create, list and revoke tokens and passwords for callers of a server.",
        {"add": "server.tokens:add", LIST: "server.tokens:list_", "remove": "server.tokens:remove"},
        _SERVER,
    ),
    "notices": Group(
        "Notify webhooks and Kafka topics about messages that were lost.",
        {"run": "server.notices:run", "watch": "server.notices:watch"},
        _SERVER,
    ),
    "store": Group(
        "Create, inspect, back up and maintain a store.",
        {
            "init": "store.init:init",
            "status": "store.init:status",
            "tick": "store.upkeep:tick",
            "policy": Group(
                "Set and list the policies of a store, by message name.",
                {"set": "store.operations:set_policy", LIST: "store.operations:list_policies"},
            ),
            "set-aside": Group(
                "List, retry and delete what could not be carried out.",
                {LIST: "store.operations:list_set_aside"}
                | {name: f"store.operations:{name}_set_aside" for name in ("retry", "delete")},
            ),
            "dead-letters": "lists:list_dead_letters",
            **{name: f"store.copies:{name}" for name in ("backup", "restore", "verify")},
            "compact": "store.upkeep:compact",
            "reshard": "store.copies:reshard",
        },
        _STORE,
    ),
    "pipeline": Group("Run pipelines that files describe, on Spark.", {"run": "spark.pipeline:run"}, _SPARK),
    "spark": Group(
        "Correlate tables, ingest streams, export, report and replay on Apache Spark.",
        {name: f"spark.{name}:{name}" for name in ("correlate", "ingest", "export", "report", "replay")},
        _SPARK,
    ),
}
"""What `conjoin --help` shows."""
_PANELS = {"serve": _SERVER}
_NO_MARKUP = re.compile(r"(?<!\\)\[(?=[a-z#/@][^\[]*?\])(?!/?bold\])")
"""Of commands at the top that are in no group."""

_FLAT = {
    "message": ("publish", "explain", "signal"),
    "instance": ("create", "cancel", "set-variables", "resolve"),
    "job": ("activate", "complete", "fail", "throw-error", "update-retries"),
    "model": ("deploy", "lint", "scenario"),
    "store": (
        *("init", "status", "tick", "backup", "restore", "verify", "compact", "reshard"),
        *("set-aside", "policy"),
    ),
    "spark": ("correlate", "ingest", "export", "report", "replay"),
}
HIDDEN: dict[str, str | Group] = {
    **{name: COMMANDS[group].commands[name] for group, names in _FLAT.items() for name in names},  # type: ignore[union-attr]
    "correlate-message": "message.publish:correlate_message",
    "messages": _lists("messages", show="lists:show_message"),
    **{what: _lists(what) for what in ("subscriptions", "instances", "incidents", "jobs")},
    "dead-letters": _lists("dead_letters"),
}
"""Names from before there were groups, and the plurals, which list."""


@dataclass(frozen=True)
class Lazily(Mapping[str, Any]):
    """Commands as typer knows them, each made when it is first looked up."""

    shown: Mapping[str, str | Group]
    hidden: Mapping[str, str | Group] = field(default_factory=dict)

    @cached_property
    def _made(self) -> dict[str, Any]:
        return {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._made:
            what = self.shown[name] if name in self.shown else self.hidden[name]
            made = _group(name, what) if isinstance(what, Group) else _imported(name, what)
            made.hidden = name not in self.shown
            self._made[name] = made
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.shown
        yield from self.hidden

    def __len__(self) -> int:
        return len(self.shown) + len(self.hidden)


class _LazyGroup(typer.core.TyperGroup):
    without_command = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Those that the help shows, in our order."""
        return list(self.commands.shown) if isinstance(self.commands, Lazily) else list(self.commands)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if self.without_command and "--help" not in args[:1] and not (args and args[0] in self.commands):
            args = [self.without_command, *args]
        return super().parse_args(ctx, args)


class Conjoin(_LazyGroup):
    """The group of all commands."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands = Lazily(COMMANDS, HIDDEN)  # type: ignore[assignment]


def _group(name: str, what: Group) -> _LazyGroup:
    about: Any = {"help": what.help, "rich_help_panel": what.panel or None}
    group = _LazyGroup(name=name, no_args_is_help=not what.without_command, rich_markup_mode="rich", **about)
    group.commands = Lazily(what.commands)  # type: ignore[assignment]
    group.without_command = what.without_command
    return group


def _flowing(paragraph: str) -> str:
    """What is indented, such as examples and lists, keeps its lines."""
    return paragraph if "\n " in f"\n{paragraph}" else paragraph.replace("\n", " ")


@contextmanager
def importing() -> Iterator[None]:
    """Meanwhile the garbage collector rests, as modules stay: that is an eighth of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _imported(name: str, path: str) -> Any:
    module, _, attribute = path.partition(":")
    with importing():
        found = getattr(import_module(f"conjoin.cli.{module}"), attribute)
    alone = typer.Typer(rich_markup_mode="rich")
    if isinstance(found, typer.Typer):
        alone.add_typer(found, name=name)
    else:
        alone.command(name, rich_help_panel=_PANELS.get(name))(found)
    return _spelled_out(typer.main.get_group(alone).commands[name])


def _spelled_out(command: Any) -> Any:
    """Of what help says in brackets only bold is markup, and lines of text are as long as the terminal is wide."""
    for it in (command, *command.params):
        if getattr(it, "help", None):
            it.help = "\n\n".join(map(_flowing, _NO_MARKUP.sub(r"\\[", it.help).split("\n\n")))
    for inside in getattr(command, "commands", {}).values():
        _spelled_out(inside)
    return command

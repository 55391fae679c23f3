"""conjoin: the command. What is wrong with the input or the installation is one line on stderr and exit code 2."""

import sys
from collections.abc import Callable
from typing import Annotated

import typer

from conjoin import __version__
from conjoin.cli import inbox, lists, notices, policy, scenario
from conjoin.cli.backup import backup, restore
from conjoin.cli.compact import compact
from conjoin.cli.correlate import correlate
from conjoin.cli.correlate_message import correlate_message
from conjoin.cli.deploy import deploy
from conjoin.cli.explain import explain
from conjoin.cli.export import export
from conjoin.cli.ingest import ingest
from conjoin.cli.init import init
from conjoin.cli.instances import cancel, create, resolve, set_variables
from conjoin.cli.jobs import activate, complete, fail, throw_error, update_retries
from conjoin.cli.lint import lint
from conjoin.cli.printing import complain
from conjoin.cli.publish import publish
from conjoin.cli.replay import replay
from conjoin.cli.report import report
from conjoin.cli.reshard import reshard
from conjoin.cli.serve import serve
from conjoin.cli.signal import signal
from conjoin.cli.status import status
from conjoin.cli.tick import tick
from conjoin.cli.verify import verify
from conjoin.cli.zbctl import as_ours
from conjoin.errors import ConjoinError

WRONG_INPUT = 2
INTERRUPTED = 130

app = typer.Typer(
    name="conjoin",
    help="Joins messages to the workflow instances that wait for them, with the exact rules of Zeebe.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)
_PANELS: dict[str, tuple[Callable[..., None], ...]] = {
    "Messages": (publish, ingest, correlate_message, explain, signal),
    "Processes": (deploy, create, cancel, set_variables, resolve),
    "Jobs": (activate, complete, fail, throw_error, update_retries),
    "The store": (init, serve, status, tick, backup, restore, verify, compact, reshard),
    "On Spark": (export, report, replay),
    "Without a store": (correlate, lint),
}
for _panel, _commands in _PANELS.items():
    for _command in _commands:
        app.command(_command.__name__.replace("_", "-"), rich_help_panel=_panel)(_command)
for _list in lists.APPS:
    app.add_typer(_list, rich_help_panel="Lists")
app.add_typer(inbox.app, rich_help_panel="Messages")
app.add_typer(notices.app, name="notices", rich_help_panel="The store")
app.add_typer(policy.app, name="policy", rich_help_panel="The store")
app.add_typer(scenario.app, name="scenario", rich_help_panel="Without a store")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"conjoin {__version__}")
        raise typer.Exit


@app.callback()
def _conjoin(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and leave.")
    ] = False,
) -> None:
    """Joins messages to the workflow instances that wait for them, with the exact rules of Zeebe."""


def main() -> None:
    """The entry of the console script."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Runs one command and says with which code the process should end."""
    try:
        app(as_ours(arguments), prog_name="conjoin")
    except SystemExit as end:
        # typer turns Ctrl-C into an end of its own.
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except ConjoinError as error:
        complain(str(error))
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0

"""conjoin: the command. What is wrong with the input or the installation is one line on stderr and exit code 2."""

import sys
from typing import Annotated

import typer

from conjoin import __version__
from conjoin.cli import scenario
from conjoin.cli.correlate import correlate
from conjoin.cli.lint import lint
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
app.command("correlate")(correlate)
app.command("lint")(lint)
app.add_typer(scenario.app, name="scenario")


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
        app(arguments, prog_name="conjoin")
    except SystemExit as end:
        # typer turns Ctrl-C into an end of its own.
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except ConjoinError as error:
        for line in str(error).splitlines():
            typer.echo(f"conjoin: {line}", err=True)
        return WRONG_INPUT
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0

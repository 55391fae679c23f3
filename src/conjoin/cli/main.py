"""conjoin: the command. What is wrong with the input or the installation is one line on stderr and exit code 2."""

import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from conjoin import __version__, runs_as
from conjoin.cli.commands import Conjoin
from conjoin.cli.printing import complain
from conjoin.errors import ConjoinError

WRONG_INPUT = 2
INTERRUPTED = 130
SPELLINGS: dict[tuple[str, ...], tuple[str, str]] = {
    ("deploy", "resource"): ("model", "deploy"),
    ("deploy", "process"): ("model", "deploy"),
    ("create", "instance"): ("instance", "create"),
    ("publish", "message"): ("message", "publish"),
    ("broadcast", "signal"): ("message", "signal"),
    ("activate", "jobs"): ("job", "activate"),
    ("complete", "job"): ("job", "complete"),
    ("fail", "job"): ("job", "fail"),
    ("throwError", "job"): ("job", "throw-error"),
    ("throw-error", "job"): ("job", "throw-error"),
    ("update", "retries"): ("job", "update-retries"),
    ("cancel", "instance"): ("instance", "cancel"),
    ("set", "variables"): ("instance", "set-variables"),
    ("resolve", "incident"): ("instance", "resolve"),
}
"""The words of zbctl, verb first, so that lines written for it work here."""

_HELP = """
Correlate messages with the BPMN process instances that wait for them, by the rules of Zeebe.

Commands work on the store in ./conjoin-data, on another one (--data, --store), or through a server (--server URL).

[bold]Examples[/bold]

  conjoin serve --demo

  conjoin message explain --name paid --key o-1

  conjoin instance list --incidents --server https://conjoin.example
"""

app = typer.Typer(
    name="conjoin",
    cls=Conjoin,
    help=_HELP,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"conjoin {__version__} ({runs_as})")
        raise typer.Exit


@app.callback()
def _conjoin(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """The entry of the console script."""
    sys.exit(run(sys.argv[1:]))


def as_ours(arguments: Sequence[str]) -> list[str]:
    """A message that is itself called `message` is `publish message message`, as in zbctl."""
    ours = SPELLINGS.get(tuple(arguments[:2]))
    return list(arguments) if ours is None else [*ours, *arguments[2:]]


def _carry_out(arguments: list[str]) -> None:
    try:
        app(as_ours(arguments), prog_name="conjoin")
    except Exception as error:
        if _came_of_interrupt(error):
            raise KeyboardInterrupt from None
        raise


def _came_of_interrupt(error: BaseException | None) -> bool:
    """Did it happen on the way out of a Ctrl-C? A call to Java that is cut off by one may say that Java is gone."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def run(arguments: list[str]) -> int:
    """Runs one command and answers with the exit code of the process."""
    try:
        _carry_out(arguments)
    except SystemExit as end:
        # typer turns Ctrl-C into an end of its own.
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except ConjoinError as error:
        complain(str(error))
    except OSError as error:
        # The border of the process: a file or folder that nobody nearer has explained is one line, too.
        named = f"{error.filename}: " if error.filename else ""
        complain(f"{named}{error.strerror or error}")
    except UnicodeEncodeError as error:
        # Python hands bytes on that are no UTF-8, as file names may be; nothing is written of what holds them.
        complain(f"{error.object!r:.60} is no text in UTF-8: is the command line in another encoding?")
    except KeyboardInterrupt:
        return INTERRUPTED
    else:
        return 0
    return WRONG_INPUT

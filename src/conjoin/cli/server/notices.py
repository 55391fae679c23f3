"""conjoin notices: notifies the receivers in conjoin.toml of what expired, was discarded, parked or went wrong."""

from threading import Event
from typing import Annotated

import typer

from conjoin.cli.configuration import receivers_of_settings
from conjoin.cli.invocation import STORE, CommandCall, command, on_store
from conjoin.cli.options import option
from conjoin.cli.printing import complain
from conjoin.cli.reading import LONGEST_PAUSE_MS
from conjoin.errors import InputError, SettingsError
from conjoin.logs import configure
from conjoin.runtime.broker import Broker
from conjoin.runtime.notices import NoticeRound, Notifier
from conjoin.times.durations import read_duration_ms

NOT_ALL_SENT = 1


@on_store()
def run(call: CommandCall) -> None:
    """Send what is new, once. The exit code is 1 if a receiver could not be reached; it is retried at the next run.

    [bold]Example[/bold], with a line in conjoin.toml:

      [notify]
      "*" = "https://ops.example/conjoin"

      conjoin notices run
    """
    with call.broker() as broker:
        done = _notifier(broker).round()
    call.print(done._asdict(), _in_words(done))
    if done.failed:
        raise typer.Exit(NOT_ALL_SENT)


@command(STORE, "conjoin notices watch --every 10s", json="")
def watch(
    call: CommandCall,
    every: Annotated[str, option("--every", "How often to look.", "DURATION", show_default=True)] = "5s",
) -> None:
    """Send what is new until Ctrl-C. Of several processes one sends, and another takes over when it is gone."""
    configure(call.settings.log_level, call.settings.log_format)
    every_ms = read_duration_ms(every)
    if not every_ms or every_ms > LONGEST_PAUSE_MS:
        raise InputError([f"--every: {every!r} is no duration, such as 5s or 1m"])
    with call.broker() as broker:
        notifier = _notifier(broker)
        while True:
            done = notifier.round()
            if done.sent or done.failed or done.missed:
                typer.echo(_in_words(done))
            Event().wait(every_ms / 1_000)


def _notifier(broker: Broker) -> Notifier:
    receivers = receivers_of_settings()
    if not receivers:
        raise SettingsError(["conjoin.toml has no section [notify]: there are no receivers"])
    return Notifier(broker, receivers)


def _in_words(done: NoticeRound) -> str:
    for name, why in done.failed.items():
        complain(f"notify.{name}: not sent, will be retried: {why}")
    if done.missed:
        complain(
            f"{done.missed} commits were removed from the log before notices were sent: log_retention is too short"
        )
    return f"told {done.sent}"

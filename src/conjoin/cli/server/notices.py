"""conjoin notices: notifies the receivers in conjoin.toml of what expired, was discarded, parked or went wrong."""

from threading import Event
from typing import Annotated, Any

import typer

from conjoin.cli.logging_setup import set_up_logging
from conjoin.cli.printing import AsJson, complain, tell
from conjoin.cli.reading import LONGEST_PAUSE_MS
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.errors import InputError, SettingsError
from conjoin.runtime.notices import NoticeRound, Notifier, Receiver, read_receivers
from conjoin.settings import load
from conjoin.times.durations import read_duration_ms

NOT_ALL_TOLD = 1


def run(data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Send what is new, once. The exit code is 1 if a receiver could not be reached; it is retried at the next run.

    [bold]Example[/bold], with a line in conjoin.toml:

      [notify]
      "*" = "https://ops.example/conjoin"

      conjoin notices run
    """
    with opened_broker(data, store) as broker:
        done = Notifier(broker, _receivers()).round()
    tell(done._asdict(), _in_words(done), as_json)
    if done.failed:
        raise typer.Exit(NOT_ALL_TOLD)


def watch(
    every: Annotated[str, typer.Option(metavar="DURATION", help="How often to look.")] = "5s",
    data: Data = None,
    store: StoreUrl = None,
) -> None:
    """Send what is new until Ctrl-C. Of several processes one sends, and another takes over when it is gone.

    [bold]Example[/bold]

      conjoin notices watch --every 10s
    """
    set_up_logging()
    every_ms = read_duration_ms(every)
    if not every_ms or every_ms > LONGEST_PAUSE_MS:
        raise InputError([f"--every: {every!r} is no duration, such as 5s or 1m"])
    with opened_broker(data, store) as broker:
        notifier = Notifier(broker, _receivers())
        while True:
            done = notifier.round()
            if done.told or done.failed or done.missed:
                typer.echo(_in_words(done))
            Event().wait(every_ms / 1_000)


def _receivers() -> list[Receiver]:
    section: dict[str, Any] = load().notify
    if not section:
        raise SettingsError(["conjoin.toml has no section [notify]: there are no receivers"])
    return read_receivers(section)


def _in_words(done: NoticeRound) -> str:
    for name, why in done.failed.items():
        complain(f"notify.{name}: not sent, will be retried: {why}")
    if done.missed:
        complain(
            f"{done.missed} commits were removed from the log before notices were sent: log_retention is too short"
        )
    return f"told {done.told}"

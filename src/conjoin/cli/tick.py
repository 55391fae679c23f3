"""conjoin tick: does what has fallen due, once or again and again."""

import time
from typing import Annotated

import typer

from conjoin.cli.printing import AsJson, complain, tell
from conjoin.cli.reading import read_ms
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.errors import ConjoinError, InputError
from conjoin.runtime.broker import Broker


def tick(
    every: Annotated[
        str | None,
        typer.Option("--every", metavar="DURATION", help="Again and again, until interrupted.", show_default=False),
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Do what has fallen due: timers, messages whose time is over, jobs whose worker is late or whose back-off ends.

    Nothing of this happens by itself while no server runs.

    [bold]Examples[/bold]

      conjoin tick

      conjoin tick --every 1s
    """
    pause_ms = None if every is None else _pause_ms(every)
    with opened_broker(data, store) as broker:
        if pause_ms is None:
            broker.tick()
            tell({"ticked": True}, "everything that was due is done", as_json)
        else:
            _repeat(broker, pause_ms)


def _pause_ms(text: str) -> int:
    pause_ms = read_ms(text, "--every")
    if pause_ms < 1:
        raise InputError(["--every: a pause is at least 1ms"])
    return pause_ms


def _repeat(broker: Broker, pause_ms: int) -> None:
    """Until interrupted, which is how it is meant to end. What may pass by itself is told and tried again."""
    try:
        while True:
            try:
                broker.tick()
            except ConjoinError as error:
                if not error.retryable:
                    raise
                complain(str(error))
            time.sleep(pause_ms / 1_000)
    except KeyboardInterrupt:
        return

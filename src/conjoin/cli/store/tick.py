"""conjoin store tick: does what has fallen due, once or again and again."""

import time
from contextlib import closing
from typing import Annotated

import typer

from conjoin.cli.printing import AsJson, complain, tell
from conjoin.cli.reading import LONGEST_PAUSE_MS, read_ms
from conjoin.cli.store.compact import keep_for
from conjoin.cli.store_option import Data, StoreUrl, opened_broker
from conjoin.errors import ConjoinError, InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.upkeep.retention import Cleaning


def tick(
    every: Annotated[
        str | None,
        typer.Option(
            "--every", metavar="DURATION", help="Repeat at this interval until interrupted.", show_default=False
        ),
    ] = None,
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
) -> None:
    """Do what is due: fire timers, expire messages, give back jobs that timed out or whose back-off is over.

    Every ten minutes it also removes what was kept for long enough, as the settings message_retention,
    instance_retention and log_retention say. None of this happens on its own while no server runs.

    [bold]Examples[/bold]

      conjoin store tick

      conjoin store tick --every 1s
    """
    pause_ms = None if every is None else _pause_ms(every)
    kept = keep_for()
    with opened_broker(data, store) as broker, closing(Cleaning(broker.store, lambda: broker.now, kept)) as cleaning:
        if pause_ms is None:
            broker.tick()
            while cleaning.go_on():
                pass
            told = {"ticked": True, "removed": cleaning.removed._asdict()}
            tell(told, "everything that was due is done", as_json)
        else:
            _repeat(broker, cleaning, pause_ms)


def _pause_ms(text: str) -> int:
    pause_ms = read_ms(text, "--every")
    if pause_ms < 1:
        raise InputError(["--every: a pause is at least 1ms"])
    if pause_ms > LONGEST_PAUSE_MS:
        raise InputError(["--every: a pause is at most 365d"])
    return pause_ms


def _repeat(broker: Broker, cleaning: Cleaning, pause_ms: int) -> None:
    """Until interrupted, which is how it is meant to end. What may pass is reported and retried."""
    try:
        while True:
            try:
                broker.tick()
                _clean(cleaning, pause_ms)
            except ConjoinError as error:
                if not error.retryable:
                    raise
                complain(str(error))
            time.sleep(pause_ms / 1_000)
    except KeyboardInterrupt:
        return


def _clean(cleaning: Cleaning, for_ms: int) -> None:
    """No longer than so: something may have fallen due meanwhile."""
    until = time.monotonic() + for_ms / 1_000
    while cleaning.go_on() and time.monotonic() < until:
        pass

"""conjoin inbox run and watch: the schedule of the inbox, once and in the foreground."""

from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from time import sleep
from typing import Annotated, Any

import typer

from conjoin.cli.inbox.opening import inbox_at_work
from conjoin.cli.inbox.telling import counted, in_words
from conjoin.cli.logging_setup import set_up_logging
from conjoin.cli.printing import AsJson, complain, tell
from conjoin.cli.spark.option import DriverMemory, Jars, Master, check_spark, started_spark
from conjoin.cli.store_option import Data, StoreUrl
from conjoin.errors import ConjoinError, InputError
from conjoin.runtime.codec.json_text import json_text
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.schedule import InboxSchedule
from conjoin.times.iso8601 import instant_text

_EVERY_S = 0.5
_NOTHING = "nothing was due"


OnSpark = Annotated[
    bool,
    typer.Option(
        "--spark", help="On Spark, for volume: one task per shard.", rich_help_panel="Spark", show_default=False
    ),
]


def run(
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
    on_spark: OnSpark = False,
    master: Master = None,
    driver_memory: DriverMemory = None,
    jars: Jars = None,
) -> None:
    """Deliver everything that is due, once; expire and remove what is over.

    It may run beside a server or a watch: no message is delivered by two of them.

    [bold]Examples[/bold]

      conjoin inbox run

      conjoin inbox run --store postgresql://conjoin@db/orders --json

      conjoin inbox run --spark --master spark://master:7077 --store postgresql://conjoin@db/orders
    """
    spark = _spark(on_spark, master, driver_memory, jars)
    with inbox_at_work(data, store, spark) as inbox:
        _check_enabled(inbox)
        counts = counted(inbox.run() + inbox.clean_up())
    tell(counts, in_words(counts, _NOTHING), as_json)


def _spark(on_spark: bool, master: str | None, driver_memory: str | None, jars: str | None) -> Callable[[], Any] | None:
    """What starts it, if it was asked for; a master alone asks for it, too."""
    if not on_spark and master is None:
        return None
    check_spark("conjoin inbox --spark")
    return partial(started_spark, "conjoin inbox", master, driver_memory, jars)


def watch(
    data: Data = None,
    store: StoreUrl = None,
    as_json: AsJson = False,
    on_spark: OnSpark = False,
    master: Master = None,
    driver_memory: DriverMemory = None,
    jars: Jars = None,
) -> None:
    """Run the schedule until interrupted, with a line for each run that did something.

    The settings poll_interval and cleanup_interval say when. Of several that watch one store one at a time is active.

    [bold]Example[/bold]

      conjoin inbox watch
    """
    set_up_logging()
    spark = _spark(on_spark, master, driver_memory, jars)
    with inbox_at_work(data, store, spark) as inbox:
        _check_enabled(inbox)
        schedule = InboxSchedule(inbox)
        try:
            while True:
                _step(inbox, schedule, as_json)
                sleep(_EVERY_S)
        except KeyboardInterrupt:
            return


def _step(inbox: Inbox, schedule: InboxSchedule, as_json: bool) -> None:
    """What may pass is reported, and retried at the next interval."""
    before = asdict(schedule.counts)
    try:
        schedule.step()
    except ConjoinError as error:
        if not error.retryable:
            raise
        complain(str(error))
    counts = {word: count - before[word] for word, count in asdict(schedule.counts).items() if count != before[word]}
    at = instant_text(inbox.shards.now)
    if counts:
        typer.echo(json_text({"at": at, **counts}) if as_json else f"{at}  {in_words(counts, _NOTHING)}")


def _check_enabled(inbox: Inbox) -> None:
    if not inbox.settings.enabled:
        raise InputError(["the inbox is not enabled: its setting enabled is false"])

"""conjoin inbox run and watch: the schedule of the inbox, once and in the foreground, on Spark or in this process."""

from dataclasses import asdict
from time import sleep
from typing import Annotated

import typer

from conjoin.cli.inbox.access import counted, in_words, inbox_at_work
from conjoin.cli.inbox_engine import ENGINE, inbox_maker
from conjoin.cli.invocation import STORE, CommandCall, command
from conjoin.cli.printing import complain
from conjoin.cli.progress import progress
from conjoin.errors import ConjoinError, InputError
from conjoin.logs import configure
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.schedule import InboxSchedule
from conjoin.times.iso8601 import instant_text

_EVERY_S = 0.5
_NOTHING = "nothing was due"
OnSpark = Annotated[bool, typer.Option("--spark", hidden=True)]
"""What --engine spark was called before."""


@command(
    STORE | ENGINE,
    "conjoin inbox run --engine spark",
    "conjoin inbox run --master spark://master:7077 --store postgresql://conjoin@db/orders",
    "conjoin inbox run --engine inline --json",
)
def run(call: CommandCall, on_spark: OnSpark = False) -> None:
    """Deliver everything that is due, once; expire and remove what is over.

    On Spark a task per shard does it, and calls remote targets; without anything due there is no job. It may run
    beside a server or a watch: no message is delivered by two of them.
    """
    with inbox_at_work(call, inbox_maker(call, on_spark)) as inbox:
        _check_enabled(inbox)
        with progress(only_on_terminal=True) as step:
            step("delivering what is due")
            counts = counted(asdict(inbox.run() + inbox.clean_up()))
    call.print(counts, in_words(counts, _NOTHING))


@command(STORE | ENGINE, "conjoin inbox watch", "conjoin inbox watch --master spark://master:7077")
def watch(call: CommandCall, on_spark: OnSpark = False) -> None:
    """Run the schedule until interrupted, with a line for each run that did something.

    The settings poll_interval and cleanup_interval say when. Of several that watch one store one at a time is active.
    """
    configure(call.settings.log_level, call.settings.log_format)
    with inbox_at_work(call, inbox_maker(call, on_spark)) as inbox:
        _check_enabled(inbox)
        schedule = InboxSchedule(inbox)
        try:
            while True:
                _step(call, inbox, schedule)
                sleep(_EVERY_S)
        except KeyboardInterrupt:
            return


def _step(call: CommandCall, inbox: Inbox, schedule: InboxSchedule) -> None:
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
        call.print({"at": at, **counts}, f"{at}  {in_words(counts, _NOTHING)}")


def _check_enabled(inbox: Inbox) -> None:
    if not inbox.settings.enabled:
        raise InputError(["the inbox is not enabled: its setting enabled is false"])

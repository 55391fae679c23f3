"""conjoin store tick and compact: doing what has fallen due, and removing what was kept for long enough."""

import time
from contextlib import closing
from pathlib import Path
from typing import Annotated

from conjoin.cli.configuration import keep_for
from conjoin.cli.invocation import CommandCall, on_store, opened_store
from conjoin.cli.options import option
from conjoin.cli.printing import complain
from conjoin.cli.progress import progress
from conjoin.cli.reading import LONGEST_PAUSE_MS, read_ms
from conjoin.errors import ConjoinError, InputError
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import now_us
from conjoin.runtime.upkeep.removal import compact_log
from conjoin.runtime.upkeep.retention import Cleaning, Retention


@on_store("conjoin store tick", "conjoin store tick --every 1s")
def tick(
    call: CommandCall,
    every: Annotated[str | None, option("--every", "Repeat at this interval until interrupted.", "DURATION")] = None,
) -> None:
    """Do what is due: fire timers, expire messages, give back jobs that timed out or whose back-off is over.

    Every ten minutes it also removes what was kept for long enough, as the settings message_retention,
    instance_retention and log_retention say. None of this happens on its own while no server runs.
    """
    pause_ms = None if every is None else read_ms(every, "--every")
    if pause_ms is not None and not 1 <= pause_ms <= LONGEST_PAUSE_MS:
        raise InputError([f"--every: a pause is at {'least 1ms' if pause_ms < 1 else 'most 365d'}"])
    kept = keep_for()
    with call.broker() as broker, closing(Cleaning(broker.store, lambda: broker.now, kept)) as cleaning:
        if pause_ms is not None:
            _repeat(broker, cleaning, pause_ms / 1_000)
            return
        broker.tick()
        while cleaning.go_on():
            pass
        call.print({"ticked": True, "removed": cleaning.removed._asdict()}, "everything that was due is done")


def _repeat(broker: Broker, cleaning: Cleaning, pause_s: float) -> None:
    """Until interrupted, which is how it is meant to end. What may pass is reported and retried."""
    try:
        while True:
            try:
                broker.tick()
                # No longer than so: something may have fallen due meanwhile.
                until = time.monotonic() + pause_s
                while cleaning.go_on() and time.monotonic() < until:
                    pass
            except ConjoinError as error:
                if not error.retryable:
                    raise
                complain(str(error))
            time.sleep(pause_s)
    except KeyboardInterrupt:
        return


@on_store("conjoin store compact", "conjoin store compact --backup backups/monday")
def compact(
    call: CommandCall,
    backup: Annotated[Path | None, option("--backup", "Remove the log up to this backup, too.", "DIR")] = None,
) -> None:
    """Remove what was kept for long enough: messages, closed subscriptions, ended instances, log.

    The settings message_retention, instance_retention and log_retention say how long. Others may keep writing;
    conjoin store tick does the same every ten minutes. With a [bold]backup[/bold] of this store, the log up to it is
    removed as well: conjoin store verify --from replays the rest.
    """
    with progress(only_on_terminal=True) as step, call.opened_store() as store:
        with closing(Retention(store, keep_for())) as retention:
            step("removing what was kept for long enough")
            removed = retention.sweep(now_us())
        if backup is not None:
            step("shortening the log")
            with opened_store(backup) as base:
                removed = removed._replace(log_blocks=removed.log_blocks + compact_log(store, base))
    counts = [f"{name.replace('_', ' ')} {count}" for name, count in removed._asdict().items()]
    call.print(removed._asdict(), f"removed: {', '.join(counts)}")

"""conjoin store compact: removes what was kept for long enough, and the head of a log that a backup replaces."""

from pathlib import Path
from typing import Annotated

import typer

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.store_option import Data, StoreUrl, opened_store
from conjoin.runtime.opening import now_us
from conjoin.runtime.upkeep.removal import compact_log
from conjoin.runtime.upkeep.retention import KeepFor, Removed, Retention
from conjoin.settings import load
from conjoin.times.durations import read_duration_ms


def compact(
    data: Data = None,
    store: StoreUrl = None,
    backup: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Remove the log up to this backup, too.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Remove what was kept for long enough: messages, closed subscriptions, ended instances, log.

    The settings message_retention, instance_retention and log_retention say how long. Others may keep writing;
    conjoin store tick does the same every ten minutes. With a [bold]backup[/bold] of this store, the log up to it is
    removed as well: conjoin store verify --from replays the rest.

    [bold]Examples[/bold]

      conjoin store compact

      conjoin store compact --backup backups/monday
    """
    with opened_store(data, store) as its:
        retention = Retention(its, keep_for())
        removed = retention.sweep(now_us())
        retention.close()
        if backup is not None:
            with opened_store(str(backup), None) as base:
                removed = removed._replace(log_blocks=removed.log_blocks + compact_log(its, base))
    tell(removed._asdict(), _in_words(removed), as_json)


def keep_for() -> KeepFor:
    """As the settings say."""
    settings = load()
    kept = (settings.message_retention, settings.instance_retention, settings.log_retention)
    return KeepFor(*map(read_duration_ms, kept))


def _in_words(removed: Removed) -> str:
    told = (f"{name.replace('_', ' ')} {count}" for name, count in removed._asdict().items())
    return f"removed: {', '.join(told)}"

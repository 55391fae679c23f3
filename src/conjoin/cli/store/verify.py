"""conjoin store verify: replays the log of a store, and compares what comes of it with what the store holds."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.progress import progress
from conjoin.cli.store_option import Data, StoreUrl, opened_store
from conjoin.runtime.replay.replay import Checked, verify_store

DIFFERENT = 1


def verify(
    data: Data = None,
    store: StoreUrl = None,
    backup: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="Start from this backup, not from nothing.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay the log and compare: the same events, and the rows that the store holds.

    Others may keep writing meanwhile. Where the head of the log was removed, give the [bold]backup[/bold] that
    replaces it. The exit code is 1 if anything differs.

    [bold]Examples[/bold]

      conjoin store verify

      conjoin store verify --from backups/monday
    """
    with progress(Console(stderr=True), lambda: None) as told, opened_store(data, store) as its:
        if backup is None:
            found = verify_store(its, None, told)
        else:
            with opened_store(str(backup), None) as base:
                found = verify_store(its, base, told)
    is_same = all(checked.difference is None for checked in found)
    tell({"same": is_same, "shards": [_as_object(it) for it in found]}, "\n".join(map(_in_words, found)), as_json)
    if not is_same:
        raise typer.Exit(DIFFERENT)


def _as_object(checked: Checked) -> dict[str, object]:
    names = ("shard", "versions", "rows", "removed", "hash", "difference")
    return {name: getattr(checked, name) for name in names}


def _in_words(checked: Checked) -> str:
    begin = f"shard {checked.shard}: versions replayed {checked.versions}"
    if checked.difference is not None:
        return f"{begin}, different: {checked.difference}"
    gone = f", removed by retention {checked.removed}" if checked.removed else ""
    return f"{begin}, rows compared {checked.rows}{gone}, state {checked.hash[:16]}, same"

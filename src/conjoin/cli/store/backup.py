"""conjoin store backup and restore: a store copied to a folder while it is used, and back into an empty place."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.progress import progress
from conjoin.cli.store_option import Data, StoreUrl, address_of, opened_store, shown
from conjoin.runtime.upkeep.backup import backup_store, restore_store
from conjoin.runtime.upkeep.copying import Tallies

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the backup.", show_default=False)]


def backup(folder: Folder, data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Copy a store to a folder while others use it: all shards as they are at one instant.

    The backup is a data directory: every command reads it with --data. It appears under its name when it is whole.

    [bold]Examples[/bold]

      conjoin store backup backups/monday

      conjoin store backup backups/monday --store postgresql://conjoin@db/orders
    """
    with progress(Console(stderr=True), lambda: None) as told, opened_store(data, store) as its:
        copied = backup_store(its, folder, told)
    tell({"backup": str(folder), "tables": as_object(copied)}, f"{in_words(copied)}\nbacked up to {folder}", as_json)


def restore(folder: Folder, data: Data = None, store: StoreUrl = None, as_json: AsJson = False) -> None:
    """Copy a backup into an empty place: a new data directory, or a PostgreSQL database without a store.

    [bold]Examples[/bold]

      conjoin store restore backups/monday --data restored

      conjoin store restore backups/monday --store postgresql://conjoin@db/orders
    """
    address = address_of(data, store)
    with progress(Console(stderr=True), lambda: None) as told:
        copied = restore_store(folder, address, told)
    told_in_words = f"{in_words(copied)}\nrestored to {shown(address)}"
    tell({"restored": shown(address), "tables": as_object(copied)}, told_in_words, as_json)


def as_object(copied: Tallies) -> dict[str, dict[str, object]]:
    return {name: {"rows": tally.rows, "hash": tally.hash} for name, tally in copied.items()}


def in_words(copied: Tallies) -> str:
    """A line a table: equal on both sides, or there would have been an error."""
    width = max(map(len, ("table", *copied)))
    lines = [f"{'table':<{width}} {'rows':>10}  hash"]
    lines += [f"{name:<{width}} {tally.rows:>10}  {tally.hash[:16]}" for name, tally in copied.items()]
    return "\n".join(lines)

"""conjoin store backup, restore, reshard and verify: a store copied while it is used, back, into another number of
shards, and its log replayed. What is equal on both sides is proven by counts and hashes, or there is an error.
"""

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from conjoin.cli.invocation import CommandCall, on_store, opened_store
from conjoin.cli.options import option
from conjoin.cli.printing import shown
from conjoin.cli.progress import progress
from conjoin.cli.store.init import MOST_SHARDS

if TYPE_CHECKING:
    from conjoin.runtime.upkeep.copying import Tallies

DIFFERENT = 1
Folder = Annotated[Path, typer.Argument(metavar="DIR", help="The folder of the backup.", show_default=False)]


@on_store(
    "conjoin store backup backups/monday",
    "conjoin store backup backups/monday --store postgresql://conjoin@db/orders",
)
def backup(call: CommandCall, folder: Folder) -> None:
    """Copy a store to a folder while others use it: all shards as they are at one instant.

    The backup is a data directory: every command reads it with --data. It appears under its name when it is whole.
    """
    from conjoin.runtime.upkeep.backup import backup_store

    with progress() as step, call.opened_store() as store:
        copied = backup_store(store, folder, step)
    _print_copied(call, {"backup": str(folder)}, copied, f"backed up to {folder}")


@on_store(
    "conjoin store restore backups/monday --data restored",
    "conjoin store restore backups/monday --store postgresql://conjoin@db/orders",
)
def restore(call: CommandCall, folder: Folder) -> None:
    """Copy a backup into an empty place: a new data directory, or a PostgreSQL database without a store."""
    from conjoin.runtime.upkeep.backup import restore_store

    address = call.address
    with progress() as step:
        copied = restore_store(folder, address, step)
    _print_copied(call, {"restored": shown(address)}, copied, f"restored to {shown(address)}")


@on_store(
    "conjoin store reshard --shards 4 --out wider",
    "conjoin store reshard --shards 8 --data small --out postgresql://conjoin@db/orders",
)
def reshard(
    call: CommandCall,
    shards: Annotated[int, typer.Option(min=1, max=MOST_SHARDS, help="How many the new store has.")],
    out: Annotated[str, option("", "Where the new store is made.", "DIR|URL")],
    ingest_done: Annotated[
        bool, typer.Option("--ingest-done", help="All sources were stopped after their last batch was taken.")
    ] = False,
) -> None:
    """Make a store with another number of shards. Stop everything that writes to the old one before.

    The old store stays as it is, with its log; the new one begins a log of its own. Keys stay what they are.
    """
    from conjoin.runtime.upkeep.reshard import reshard_store

    address: str | Path = out if "://" in out else Path(out)
    with progress() as step, call.opened_store() as store:
        before = store.facts.shards
        moved = reshard_store(store, shards, address, step, ingest_is_done=ingest_done)
    about = {"store": shown(address), "shards_before": before, "shards": shards}
    _print_copied(call, about, moved, f"{shown(address)} has {shards} shards, was {before}")


def _print_copied(call: CommandCall, about: dict[str, Any], copied: "Tallies", last: str) -> None:
    width = max(map(len, ("table", *copied)))
    lines = [f"{'table':<{width}} {'rows':>10}  hash"]
    lines += [f"{name:<{width}} {tally.rows:>10}  {tally.hash[:16]}" for name, tally in copied.items()]
    tables = {name: {"rows": tally.rows, "hash": tally.hash} for name, tally in copied.items()}
    call.print({**about, "tables": tables}, "\n".join([*lines, last]))


@on_store("conjoin store verify", "conjoin store verify --from backups/monday")
def verify(
    call: CommandCall,
    backup: Annotated[Path | None, option("--from", "Start from this backup, not from nothing.", "DIR")] = None,
) -> None:
    """Replay the log and compare: the same events, and the rows that the store holds.

    Others may keep writing meanwhile. Where the head of the log was removed, give the [bold]backup[/bold] that
    replaces it. The exit code is 1 if anything differs.
    """
    from conjoin.runtime.replay.replay import verify_store

    base = nullcontext() if backup is None else opened_store(backup)
    with progress() as step, call.opened_store() as store, base as start:
        found = verify_store(store, start, step)
    lines = []
    for it in found:
        line, gone = f"shard {it.shard}: versions replayed {it.versions}", f", removed by retention {it.removed}"
        if it.difference is not None:
            lines.append(f"{line}, different: {it.difference}")
        else:
            gone = gone if it.removed else ""
            lines.append(f"{line}, rows compared {it.rows}{gone}, state {it.hash[:16]}, same")
    names = ("shard", "versions", "rows", "removed", "hash", "difference")
    is_same = all(it.difference is None for it in found)
    shards = [{name: getattr(it, name) for name in names} for it in found]
    call.print({"same": is_same, "shards": shards}, "\n".join(lines))
    if not is_same:
        raise typer.Exit(DIFFERENT)

"""conjoin store reshard: makes a store with another number of shards from one that nobody uses meanwhile."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from conjoin.cli.printing import AsJson, tell
from conjoin.cli.progress import progress
from conjoin.cli.store.backup import as_object, in_words
from conjoin.cli.store.init import MOST_SHARDS
from conjoin.cli.store_option import Data, StoreUrl, opened_store, shown
from conjoin.runtime.upkeep.reshard import reshard_store


def reshard(
    shards: Annotated[int, typer.Option(min=1, max=MOST_SHARDS, help="How many the new store has.")],
    out: Annotated[str, typer.Option(metavar="DIR|URL", help="Where the new store is made.", show_default=False)],
    data: Data = None,
    store: StoreUrl = None,
    ingest_done: Annotated[
        bool, typer.Option("--ingest-done", help="All sources were stopped after their last batch was taken.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Make a store with another number of shards. Stop everything that writes to the old one before.

    The old store stays as it is, with its log; the new one begins a log of its own. Keys stay what they are.

    [bold]Examples[/bold]

      conjoin store reshard --shards 4 --out wider

      conjoin store reshard --shards 8 --data small --out postgresql://conjoin@db/orders
    """
    address: str | Path = out if "://" in out else Path(out)
    with progress(Console(stderr=True), lambda: None) as told, opened_store(data, store) as its:
        before = its.facts.shards
        moved = reshard_store(its, shards, address, told, ingest_is_done=ingest_done)
    said = {"store": shown(address), "shards_before": before, "shards": shards, "tables": as_object(moved)}
    tell(said, f"{in_words(moved)}\n{shown(address)} has {shards} shards, was {before}", as_json)

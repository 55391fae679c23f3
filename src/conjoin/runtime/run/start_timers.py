"""The timers of start events: each shard schedules those of the processes that belong to it, once for each version.

How far the catalog was looked through is a position in the same commit as the timers, so neither a crash nor a second
process schedules twice or forgets.
"""

from conjoin.kernel.process import commands as c
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.engine.stored_catalog import CatalogView
from conjoin.runtime.run.batches import Batch
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import PositionRow

SOURCE, PART = "catalog", "start timers"


def scheduled_up_to(snapshot: ShardSnapshot) -> int:
    """The version of the catalog that the shard has looked through."""
    return int(snapshot.position(SOURCE).get(PART, "0"))


def starts_to_schedule(shard: int, seen: int, view: CatalogView, shards: int) -> Batch:
    """For a shard that has looked through the catalog up to a version."""
    mine = [row for row in view.deployed_after(seen) if shard_of(row.process_id, shards) == shard]
    orders = [c.ScheduleStarts(row.key, 0) for row in mine]
    return Batch(orders, positions=[PositionRow(SOURCE, PART, str(view.version))])

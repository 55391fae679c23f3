"""Moving: messages whose key was corrected go to the shard where they belong.

Stored there first, removed here then, and each step can be taken again: whatever dies in between, the message is there
once, and is tried only at its home. Every run begins with this.
"""

from conjoin.kernel.inbox.groups import group_key_of
from conjoin.runtime.inbox.across_shards.shards import Shards
from conjoin.runtime.inbox.placement import MOVING, home_of, stored_group
from conjoin.runtime.inbox.requests import AT_ONCE, InboxMoveIn, InboxMoveOut, Moved
from conjoin.runtime.inbox.rows import read_row, with_content
from conjoin.store.port import ShardSnapshot


def finish_moves(shards: Shards) -> int:
    """All that are under way, on all shards; how many there were."""
    return sum(_move_from(shards, shard) for shard in range(shards.count))


def _move_from(shards: Shards, shard: int) -> int:
    with shards.look(shard) as snapshot:
        moved = _all_moving(snapshot, shards.now)
    for it in moved:
        message = with_content(read_row(it.row).message, it.content)
        home = home_of(message._replace(group_key=stored_group(group_key_of(message))), shards.count)
        shards.ask(home, InboxMoveIn(it))
        if home != shard:
            shards.ask(shard, InboxMoveOut(it.row.key))
    return len(moved)


def _all_moving(snapshot: ShardSnapshot, now: int) -> list[Moved]:
    groups = [row.group_key for row in snapshot.inbox_groups_due(MOVING, now, AT_ONCE)]
    rows = snapshot.inbox_line(groups, 1) if groups else ()
    keys = [row.key for row in rows]
    contents = {row.key: row for row in snapshot.inbox_contents(keys)} if keys else {}
    lines = snapshot.inbox_attempts(keys) if keys else ()
    return [Moved(row, contents[row.key], [it for it in lines if it.inbox_key == row.key]) for row in rows]

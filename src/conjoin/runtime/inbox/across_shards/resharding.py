"""The inbox of a store that gets another number of shards: where each row goes.

A message goes to the shard where it belongs now, what came in with it and its history go along. Groups are not copied:
every group with somebody in line is looked at once by the next run.
"""

from collections.abc import Iterator
from typing import Any

from conjoin.runtime.inbox.placement import home_of_row, reach_of
from conjoin.runtime.inbox.receiving.arriving import SOURCE
from conjoin.store import tables as t
from conjoin.store.rows import InboxGroupRow, PositionRow
from conjoin.store.tables import Table

TABLES = (t.INBOX, t.INBOX_CONTENT, t.INBOX_ATTEMPT)
_AT_ONCE = 0
"""The instant before all others."""
_NO_VERSION = 0


def inbox_rows(frozen: Any, old: int, table: Table, shard: int, shards: int) -> Iterator[Any]:
    """Rows of one of the old shards that go to one of the new ones. Both tables are read in the order of the keys."""
    messages = ((row.key, home_of_row(row, shards)) for row in frozen.rows(old, t.INBOX))
    key, home = next(messages, (0, -1))
    for row in frozen.rows(old, table):
        while key < row[0] and home >= 0:
            key, home = next(messages, (0, -1))
        if key == row[0] and home == shard:
            yield row


def inbox_groups(frozen: Any, olds: int, shard: int, shards: int) -> list[InboxGroupRow]:
    groups = {
        row.group_key: reach_of(row.group_key, row.target, shards > 1)
        for old in range(olds)
        for row in frozen.rows(old, t.INBOX)
        if row.in_line and home_of_row(row, shards) == shard
    }
    return [InboxGroupRow(group_key, reach, _AT_ONCE, _NO_VERSION) for group_key, reach in groups.items()]


def without_rules(positions: Iterator[PositionRow]) -> Iterator[PositionRow]:
    """By which rules groups wait is noted anew by the next run."""
    return (row for row in positions if row.source != SOURCE)

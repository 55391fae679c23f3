"""The unit of work: the rows of the inbox that one commit reads and changes.

A message that is read by its key is as this commit has left it so far. A group that was touched is not looked at again
in the same commit: it stays due, and the next one sees all of it. Invariant: a group is never due later than something
in it can happen.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.runtime.inbox.placement import reach_of
from conjoin.runtime.inbox.rows import Filed, read_row, row_of, text_to_keep, with_content
from conjoin.store import tables as t
from conjoin.store.port import ShardSnapshot
from conjoin.store.rows import InboxAttemptRow, InboxContentRow, InboxGroupRow, InboxRow, PositionRow
from conjoin.store.tables import Table


class InboxRows:
    def __init__(self, snapshot: ShardSnapshot, is_one_of_many: bool) -> None:
        self.snapshot = snapshot
        self.touched: set[str] = set()
        """Groups of which something has changed."""
        self.arrived: set[tuple[str, str, str]] = set()
        """Messages that are known to be here, by what two deliveries of one have in common."""
        self.positions: list[PositionRow] = []
        self.lines: list[InboxAttemptRow] = []
        """Of histories, that are added."""
        self._is_one_of_many = is_one_of_many
        self._version = snapshot.head.version + 1
        self._rows: dict[int, InboxRow | None] = {}
        self._groups: dict[str, InboxGroupRow | None] = {}
        self._groups_before: dict[str, InboxGroupRow | None] = {}
        self._contents: dict[int, InboxContentRow] = {}
        self._lines_gone: list[tuple[int, int]] = []

    def filed(self, keys: Sequence[int]) -> dict[int, Filed]:
        """Those that are there."""
        missing = [key for key in keys if key not in self._rows]
        found = {row.key: row for row in self.snapshot.inbox_rows(missing)} if missing else {}
        rows = (self._rows.get(key, found.get(key)) for key in keys)
        return {row.key: read_row(row) for row in rows if row is not None}

    def whole(self, messages: Iterable[InboxMessage]) -> dict[int, InboxMessage]:
        """Messages with what came in with them."""
        wanted = {message.key: message for message in messages}
        missing = [key for key in wanted if key not in self._contents]
        contents = {row.key: row for row in self.snapshot.inbox_contents(missing)} if missing else {}
        contents |= self._contents
        return {key: with_content(its, contents[key]) for key, its in wanted.items() if key in contents}

    def put(self, filed: Filed, settings: InboxSettings) -> None:
        self.put_row(row_of(filed, settings))

    def put_row(self, row: InboxRow) -> None:
        self.touched.add(row.group_key)
        self._rows[row.key] = row

    def put_content(self, content: InboxContentRow) -> None:
        self._contents[content.key] = content

    def remove(self, keys: Sequence[int]) -> None:
        """Messages with their history."""
        for key in keys:
            self._rows[key] = None
        self._lines_gone += [(line.inbox_key, line.number) for line in self.snapshot.inbox_attempts(keys)]

    def add_line(self, filed: Filed, at: int, kind: str, who: str, texts: Sequence[str]) -> Filed:
        """One more line of its history. `texts` are verdict, reason, request and answer."""
        kept = map(text_to_keep, texts)
        self.lines.append(InboxAttemptRow(filed.message.key, filed.lines + 1, at, kind, text_to_keep(who), *kept))
        return filed._replace(lines=filed.lines + 1)

    def groups(self, group_keys: Iterable[str]) -> dict[str, InboxGroupRow]:
        """Those in which something happens by itself. Reading many at once saves reading each."""
        wanted = list(dict.fromkeys(group_keys))
        missing = [group for group in wanted if group not in self._groups and group not in self._groups_before]
        if missing:
            self._groups_before |= dict.fromkeys(missing)
            self._groups_before |= {row.group_key: row for row in self.snapshot.inbox_groups(missing)}
        rows = (self._groups.get(group, self._groups_before.get(group)) for group in wanted)
        return {row.group_key: row for row in rows if row is not None}

    def touch(self, group_key: str, target: str, due_at: int) -> None:
        """Something may happen in a group from an instant on, or earlier if it was to before."""
        self.touched.add(group_key)
        before = self.groups([group_key]).get(group_key)
        reach = reach_of(group_key, target, self._is_one_of_many)
        due_at = due_at if before is None else min(before.due_at, due_at)
        self._groups[group_key] = InboxGroupRow(group_key, reach, due_at, self._version)

    def rest(self, group: InboxGroupRow, due_at: int | None) -> None:
        """Nothing happens in a group before an instant; None: not by itself."""
        self.touched.add(group.group_key)
        rested = None if due_at is None else group._replace(due_at=due_at, version=self._version)
        self._groups[group.group_key] = rested

    @property
    def is_empty(self) -> bool:
        return not (self._rows or self._groups or self.positions)

    def puts(self) -> Mapping[Table, list[Any]]:
        gone = {key for key, row in self._rows.items() if row is None}
        put: dict[Table, list[Any]] = {
            t.INBOX: [row for row in self._rows.values() if row is not None],
            t.INBOX_CONTENT: [row for key, row in self._contents.items() if key not in gone],
            t.INBOX_ATTEMPT: [line for line in self.lines if line.inbox_key not in gone],
            t.INBOX_GROUP: [row for row in self._groups.values() if row is not None],
        }
        return {table: rows for table, rows in put.items() if rows}

    def drops(self) -> Mapping[Table, list[tuple[Any, ...]]]:
        gone = [(key,) for key, row in self._rows.items() if row is None]
        drop: dict[Table, list[tuple[Any, ...]]] = {
            t.INBOX: [*gone],
            t.INBOX_CONTENT: [*gone],
            t.INBOX_ATTEMPT: [*self._lines_gone],
            t.INBOX_GROUP: [(group,) for group, row in self._groups.items() if row is None],
        }
        return {table: keys for table, keys in drop.items() if keys}

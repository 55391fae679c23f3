"""The inbox's statements, which both databases share, and the reads made of them.

Each names the group or the keys it is about and has a limit: how many rows are parked, have ended or wait behind others
makes no difference to it. `sql.py` says what the words in braces are.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from conjoin.store import tables as t
from conjoin.store.rows import InboxAttemptRow, InboxContentRow, InboxGroupRow, InboxRow
from conjoin.store.tables import Table

_FIRST_OF_EACH: dict[str, str] = {
    "inbox_line": "t.group_key = many.value and t.in_line = 1 order by t.place, t.key limit {p}",
    "inbox_due_rows": "t.group_key = many.value and t.in_line = 1 and t.due_at <= {p}"
    " order by t.due_at, t.key limit {p}",
    "inbox_last_to_come": "t.group_key = many.value and t.in_line = 1 and t.attempts > 0 and t.due_at > {p}"
    " order by t.due_at desc limit 1",
    "inbox_stuck": "t.group_key = many.value and t.in_line = 1 and t.attempts > 0 and t.due_at is null limit 1",
    "inbox_uncertain": "t.group_key = many.value and t.state = 'uncertain' order by t.key limit {p}",
    "inbox_parked": "t.group_key = many.value and t.state = 'parked'"
    " and (t.expires_at is null or t.expires_at > {p}) order by t.place, t.key limit 1",
}
"""The first rows of each of many groups, in some order."""

_LOOKED_UP: dict[str, tuple[Table, str, str]] = {
    "inbox_rows": (t.INBOX, "numbers", "t.key = many.value"),
    "inbox_with_ids": (t.INBOX, "texts", "t.message_id = many.value and t.channel = {p} and t.tenant_id = {p}"),
    "inbox_contents": (t.INBOX_CONTENT, "numbers", "t.key = many.value"),
    "inbox_attempts": (t.INBOX_ATTEMPT, "numbers", "t.inbox_key = many.value"),
    "inbox_groups": (t.INBOX_GROUP, "texts", "t.group_key = many.value"),
}
"""All rows that belong to each of many values."""

INBOX_READS: dict[str, tuple[Table, str]] = {
    **{
        name: (
            t.INBOX,
            "from {texts} cross join inbox as t where t.key in (select t.key from inbox as t where " + found + ")",
        )
        for name, found in _FIRST_OF_EACH.items()
    },
    **{
        name: (table, f"from {{{many}}} cross join {table.name} as t where {found}")
        for name, (table, many, found) in _LOOKED_UP.items()
    },
    "inbox_line_due": (
        t.INBOX,
        # Said so that no database looks for what is due first, and then puts all of it in order.
        "from inbox as t where t.group_key = {p} and t.in_line = 1 and coalesce(t.due_at, 9223372036854775807) <= {p}"
        " order by t.place, t.key limit {p}",
    ),
    "inbox_expired": (
        t.INBOX,
        "from inbox as t where t.expires_at <= {p} and t.decided_at is null and t.state <> 'uncertain'"
        " order by t.expires_at, t.key limit {p}",
    ),
    "inbox_over": (t.INBOX, "from inbox as t where t.decided_at < {p} order by t.decided_at, t.key limit {p}"),
    "inbox_groups_due": (
        t.INBOX_GROUP,
        "from inbox_group as t where t.reach = {p} and t.due_at <= {p} order by t.due_at, {group_key} limit {p}",
    ),
}
INBOX_QUERIES: dict[str, str] = {
    "inbox_next_due": "select many.value, (select min(t.due_at) from inbox as t where t.group_key = many.value"
    " and t.in_line = 1 and t.due_at > {p}) from {texts}",
    "inbox_groups_in_line": "select min(t.group_key), max(t.target) from inbox as t where t.in_line = 1"
    " and t.group_key > {p} group by {group_key} order by {group_key} limit {p}",
    "inbox_states": "select state, count(*) from inbox group by state order by state",
}


def lateral_inbox_reads(texts: str, numbers: str, p: str) -> dict[str, str]:
    """Those of many values, where each is looked up by a subquery of its own (see `postgres_reads.py`)."""
    sources = {"texts": texts, "numbers": numbers}
    asked = {name: (t.INBOX, texts, found) for name, found in _FIRST_OF_EACH.items()}
    asked |= {name: (table, sources[many], f"{found} offset 0") for name, (table, many, found) in _LOOKED_UP.items()}
    return {
        name: f"select {', '.join(f't.{column}' for column in table.columns)} from {source} cross join lateral"
        f" (select t.* from {table.name} as t where {found.format(p=p)}) as t"
        for name, (table, source, found) in asked.items()
    }


class InboxReads:
    """The inbox's part of a `ShardSnapshot`. None may be asked for the rows of no groups or keys."""

    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        raise NotImplementedError

    def _many(self, values: Sequence[Any]) -> Any:
        raise NotImplementedError

    def inbox_groups_due(self, reach: str, at: int, limit: int) -> Sequence[InboxGroupRow]:
        return self._inbox_rows("inbox_groups_due", reach, at, limit)

    def inbox_groups(self, group_keys: Sequence[str]) -> Sequence[InboxGroupRow]:
        return self._inbox_rows("inbox_groups", self._many(group_keys))

    def inbox_groups_in_line(self, after: str, limit: int) -> Sequence[tuple[str, str]]:
        return [(group_key, target) for group_key, target in self._read("inbox_groups_in_line", after, limit)]

    def inbox_line(self, group_keys: Sequence[str], limit: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_line", self._many(group_keys), limit)

    def inbox_due_rows(self, group_keys: Sequence[str], at: int, limit: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_due_rows", self._many(group_keys), at, limit)

    def inbox_line_due(self, group_key: str, at: int, limit: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_line_due", group_key, at, limit)

    def inbox_next_due(self, group_keys: Sequence[str], at: int) -> Mapping[str, int]:
        # The first parameter of the statement is the first in its text.
        found = self._read("inbox_next_due", at, self._many(group_keys))
        return {group_key: due_at for group_key, due_at in found if due_at is not None}

    def inbox_gatekeepers(self, group_keys: Sequence[str], at: int) -> Sequence[InboxRow]:
        groups = self._many(group_keys)
        return [*self._inbox_rows("inbox_last_to_come", groups, at), *self._inbox_rows("inbox_stuck", groups)]

    def inbox_uncertain(self, group_keys: Sequence[str], limit: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_uncertain", self._many(group_keys), limit)

    def inbox_parked(self, group_keys: Sequence[str], at: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_parked", self._many(group_keys), at)

    def inbox_rows(self, keys: Sequence[int]) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_rows", self._many(keys))

    def inbox_with_ids(self, tenant_id: str, channel: str, message_ids: Sequence[str]) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_with_ids", self._many(message_ids), channel, tenant_id)

    def inbox_contents(self, keys: Sequence[int]) -> Sequence[InboxContentRow]:
        return self._inbox_rows("inbox_contents", self._many(keys))

    def inbox_attempts(self, keys: Sequence[int]) -> Sequence[InboxAttemptRow]:
        return self._inbox_rows("inbox_attempts", self._many(keys))

    def inbox_expired(self, at: int, limit: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_expired", at, limit)

    def inbox_over(self, before: int, limit: int) -> Sequence[InboxRow]:
        return self._inbox_rows("inbox_over", before, limit)

    def inbox_states(self) -> Mapping[str, int]:
        return dict(self._read("inbox_states"))

    def _inbox_rows(self, statement: str, *parameters: Any) -> list[Any]:
        return list(map(INBOX_READS[statement][0].row._make, self._read(statement, *parameters)))

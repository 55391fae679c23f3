"""What the inbox reads of a snapshot: a part of the port. No answer grows with what is parked, over, or behind others.

Groups and keys are passed many at a time, at least one. Rows come in no order, unless a method says so.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from conjoin.store.rows import InboxAttemptRow, InboxContentRow, InboxGroupRow, InboxRow

_Row = TypeVar("_Row", bound=NamedTuple)


class InboxSnapshot(ABC):
    """Every read is a statement with a name (`sql/statements.py`), which each database runs in its own words."""

    @abstractmethod
    def _read(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]: ...

    @abstractmethod
    def _many(self, values: Sequence[Any]) -> Any:
        """A list as the one parameter that makes the table `many`."""

    def _rows(self, row: type[_Row], statement: str, *parameters: Any) -> list[_Row]:
        return list(map(row._make, self._read(statement, *parameters)))

    def inbox_groups_due(self, reach: str, at: int, limit: int) -> Sequence[InboxGroupRow]:
        """Those of one reach, by instant and name."""
        return self._rows(InboxGroupRow, "inbox_groups_due", reach, at, limit)

    def inbox_groups(self, group_keys: Sequence[str]) -> Sequence[InboxGroupRow]:
        """Those in which something happens by itself."""
        return self._rows(InboxGroupRow, "inbox_groups", self._many(group_keys))

    def inbox_groups_in_line(self, after: str, limit: int) -> Sequence[tuple[str, str]]:
        """All groups with a message in line, after a name, in order; each with its target."""
        return [(group_key, target) for group_key, target in self._read("inbox_groups_in_line", after, limit)]

    def inbox_line(self, group_keys: Sequence[str], limit: int) -> Sequence[InboxRow]:
        """The first messages in line of each group, at most `limit`."""
        return self._rows(InboxRow, "inbox_line", self._many(group_keys), limit)

    def inbox_due_rows(self, group_keys: Sequence[str], at: int, limit: int) -> Sequence[InboxRow]:
        """Messages in line to which something happens by itself up to an instant: the earliest of each group."""
        return self._rows(InboxRow, "inbox_due_rows", self._many(group_keys), at, limit)

    def inbox_line_due(self, group_key: str, at: int, limit: int) -> Sequence[InboxRow]:
        """The same of one group that may have very many of them, in the order of the line."""
        return self._rows(InboxRow, "inbox_line_due", group_key, at, limit)

    def inbox_next_due(self, group_keys: Sequence[str], at: int) -> Mapping[str, int]:
        """Of each group, when the next thing after an instant happens to a message in line."""
        # The first parameter of the statement is the first in its text.
        found = self._read("inbox_next_due", at, self._many(group_keys))
        return {group_key: due_at for group_key, due_at in found if due_at is not None}

    def inbox_gatekeepers(self, group_keys: Sequence[str], at: int) -> Sequence[InboxRow]:
        """Of each group, of the messages in line that have failed and are not due: the last to come; one that never is.

        Nothing more is needed to know whether a strict gate is shut, and until when.
        """
        groups = self._many(group_keys)
        last_to_come = self._rows(InboxRow, "inbox_last_to_come", groups, at)
        return [*last_to_come, *self._rows(InboxRow, "inbox_stuck", groups)]

    def inbox_uncertain(self, group_keys: Sequence[str], limit: int) -> Sequence[InboxRow]:
        """Messages of each group whose target has not answered, at most `limit`."""
        return self._rows(InboxRow, "inbox_uncertain", self._many(group_keys), limit)

    def inbox_parked(self, group_keys: Sequence[str], at: int) -> Sequence[InboxRow]:
        """Of each group the first parked message that does not expire up to an instant."""
        return self._rows(InboxRow, "inbox_parked", self._many(group_keys), at)

    def inbox_rows(self, keys: Sequence[int]) -> Sequence[InboxRow]:
        return self._rows(InboxRow, "inbox_rows", self._many(keys))

    def inbox_with_ids(self, tenant_id: str, channel: str, message_ids: Sequence[str]) -> Sequence[InboxRow]:
        return self._rows(InboxRow, "inbox_with_ids", self._many(message_ids), channel, tenant_id)

    def inbox_contents(self, keys: Sequence[int]) -> Sequence[InboxContentRow]:
        return self._rows(InboxContentRow, "inbox_contents", self._many(keys))

    def inbox_attempts(self, keys: Sequence[int]) -> Sequence[InboxAttemptRow]:
        return self._rows(InboxAttemptRow, "inbox_attempts", self._many(keys))

    def inbox_expired(self, at: int, limit: int) -> Sequence[InboxRow]:
        """Messages that are still open past their expiration, the earliest first; not those with a call under way."""
        return self._rows(InboxRow, "inbox_expired", at, limit)

    def inbox_over(self, before: int, limit: int) -> Sequence[InboxRow]:
        """Messages that ended before an instant, the earliest first."""
        return self._rows(InboxRow, "inbox_over", before, limit)

    def inbox_states(self) -> Mapping[str, int]:
        """How many messages are in each state. Slow: it counts them."""
        return dict(self._read("inbox_states"))

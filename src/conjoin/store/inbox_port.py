"""What the inbox asks of a snapshot: a part of the port. No answer grows with what is parked, over, or behind others.

Groups and keys are named many at a time, at least one. Rows come in no order, unless it is said.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from conjoin.store.rows import InboxAttemptRow, InboxContentRow, InboxGroupRow, InboxRow


class InboxSnapshot(Protocol):
    def inbox_groups_due(self, reach: str, at: int, limit: int) -> Sequence[InboxGroupRow]:
        """Those of one reach, by instant and name."""

    def inbox_groups(self, group_keys: Sequence[str]) -> Sequence[InboxGroupRow]:
        """Those in which something happens by itself."""

    def inbox_groups_in_line(self, after: str, limit: int) -> Sequence[tuple[str, str]]:
        """All groups with a message in line, after a name, in order; each with its target."""

    def inbox_line(self, group_keys: Sequence[str], limit: int) -> Sequence[InboxRow]:
        """The first messages in line of each group, so many at most."""

    def inbox_due_rows(self, group_keys: Sequence[str], at: int, limit: int) -> Sequence[InboxRow]:
        """Messages in line to which something happens by itself up to an instant: the earliest of each group."""

    def inbox_line_due(self, group_key: str, at: int, limit: int) -> Sequence[InboxRow]:
        """The same of one group that may have very many of them, in the order of the line."""

    def inbox_next_due(self, group_keys: Sequence[str], at: int) -> Mapping[str, int]:
        """Of each group, when the next thing after an instant happens to a message in line."""

    def inbox_gatekeepers(self, group_keys: Sequence[str], at: int) -> Sequence[InboxRow]:
        """Of each group, of the messages in line that have failed and are not due: the last to come; one that never is.

        Nothing more is needed to know whether a strict gate is shut, and until when.
        """

    def inbox_uncertain(self, group_keys: Sequence[str], limit: int) -> Sequence[InboxRow]:
        """Messages of each group whose target has not answered, so many at most."""

    def inbox_parked(self, group_keys: Sequence[str], at: int) -> Sequence[InboxRow]:
        """Of each group the first parked message that does not expire up to an instant."""

    def inbox_rows(self, keys: Sequence[int]) -> Sequence[InboxRow]: ...

    def inbox_with_ids(self, tenant_id: str, channel: str, message_ids: Sequence[str]) -> Sequence[InboxRow]: ...

    def inbox_contents(self, keys: Sequence[int]) -> Sequence[InboxContentRow]: ...

    def inbox_attempts(self, keys: Sequence[int]) -> Sequence[InboxAttemptRow]: ...

    def inbox_expired(self, at: int, limit: int) -> Sequence[InboxRow]:
        """Messages that are still open past their expiration, the earliest first; not those with a call under way."""

    def inbox_over(self, before: int, limit: int) -> Sequence[InboxRow]:
        """Messages that ended before an instant, the earliest first."""

    def inbox_states(self) -> Mapping[str, int]:
        """How many messages are in each state. Slow: it counts them."""

"""Tables: the name, the row and the key of each, so that one statement writes any of them."""

import types
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_args, get_type_hints

from conjoin.store import rows


@dataclass(frozen=True, eq=False)
class Table:
    """There is one object of each: it is the key of many a dictionary."""

    name: str
    row: type[NamedTuple]
    key: tuple[str, ...] = ("key",)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        return self.row._fields

    @cached_property
    def types(self) -> tuple[type, ...]:
        """int, str or bytes, column by column."""
        return tuple(map(_plain, get_type_hints(self.row).values()))

    def key_of(self, row: NamedTuple) -> tuple[Any, ...]:
        return tuple(getattr(row, column) for column in self.key)


@dataclass(frozen=True, eq=False)
class NarrowUpdate:
    """Some columns of rows that are there. A row to write is its values, then its key.

    An index is touched only where one of its columns is named, so what changes often is not named with what does not.
    """

    table: Table
    columns: tuple[str, ...]

    @cached_property
    def types(self) -> tuple[type, ...]:
        """Of the values and of the key."""
        types = dict(zip(self.table.columns, self.table.types, strict=True))
        return tuple(types[column] for column in (*self.columns, *self.table.key))


def _plain(hint: Any) -> type:
    plain: type = get_args(hint)[0] if isinstance(hint, types.UnionType) else hint
    return plain


MESSAGE = Table("message", rows.MessageRow)
MESSAGE_PART = Table("message_part", rows.MessagePartRow, ("name_start", "part_number"))
"""Follows from the messages, by which a store keeps it: see `message_parts.py`."""
SUBSCRIPTION = Table("subscription", rows.SubscriptionRow, ("tenant_id", "correlation_key", "key"))
"""All of them; a view, which nobody writes to."""
AT_HOME = Table("subscription_at_home", rows.SubscriptionRow, SUBSCRIPTION.key)
CLOSED_AT_HOME = Table("closed_subscription_at_home", rows.SubscriptionRow, SUBSCRIPTION.key)
"""Those that stand in the row of their instance; views."""
APART = Table("subscription_apart", rows.SubscriptionRow, SUBSCRIPTION.key)
"""Those that do not stand in the row of their instance."""
LOCK = Table("start_lock", rows.LockRow, ("tenant_id", "correlation_key", "process_id"))
INSTANCE = Table("instance", rows.InstanceRow)
JOB = Table("job", rows.JobRow)
TIMER = Table("timer", rows.TimerRow)
INCIDENT = Table("incident", rows.IncidentRow)
SIGNAL = Table("signal", rows.SignalRow)
SCOPE = Table("scope", rows.ScopeRow)
OUTBOX = Table("outbox", rows.OutboxRow, ("seq",))
RECEIVED = Table("received", rows.ReceivedRow, ("sender",))
POSITION = Table("position", rows.PositionRow, ("source", "part"))
DEAD_LETTER = Table("dead_letter", rows.DeadLetterRow)
SET_ASIDE = Table("set_aside", rows.SetAsideRow)
INBOX = Table("inbox", rows.InboxRow)
INBOX_CONTENT = Table("inbox_content", rows.InboxContentRow)
INBOX_ATTEMPT = Table("inbox_attempt", rows.InboxAttemptRow, ("inbox_key", "number"))
INBOX_GROUP = Table("inbox_group", rows.InboxGroupRow, ("group_key",))
EVIDENCE = Table("evidence", rows.EvidenceRow, ("message_key",))
LOG = Table("log", rows.LogRow, ("version",))

STATE = (MESSAGE, APART, LOCK, INSTANCE, JOB, TIMER, INCIDENT, SIGNAL, SCOPE)
KEPT = (DEAD_LETTER, INBOX, INBOX_CONTENT, INBOX_ATTEMPT, EVIDENCE)
"""What is kept beside the state: it is there for people, and nothing of the state follows from it."""
SHARD = (*STATE, *KEPT, SET_ASIDE, INBOX_GROUP, OUTBOX, RECEIVED, POSITION, LOG)

DERIVED = (MESSAGE_PART,)
VIEWS = (SUBSCRIPTION, AT_HOME, CLOSED_AT_HOME)

CLOSED_WAIT = {
    **{"key": int, "name": str, "element_key": int, "element_id": str, "opened_at": int, "interrupting": int},
    "at": int,
}
"""What is written of each of an instance's `closed_waits`, by position."""
_WAIT = ("wait_key", "wait_name", "wait_element_key", "wait_element_id", "wait_opened_at", "wait_interrupting")
WAIT_COLUMNS = ("wait_on", *_WAIT, "closed_waits")
ADVANCED = NarrowUpdate(INSTANCE, ("incidents", "body", *_WAIT, "closed_waits"))
"""It stays on its correlation key."""
MOVED = NarrowUpdate(INSTANCE, ("incidents", "body", *WAIT_COLUMNS))
ENDED = NarrowUpdate(INSTANCE, ("state", "ended_at", "incidents", "body", *WAIT_COLUMNS))
WAITS = NarrowUpdate(INSTANCE, WAIT_COLUMNS)
UPDATES = (ADVANCED, MOVED, ENDED, WAITS)

DEFINITION = Table("definition", rows.DefinitionRow)
RESOURCE = Table("resource", rows.ResourceRow, ("digest",))
POLICY = Table("policy", rows.PolicyRow, ("catalog_version", "name"))
CATALOG = (DEFINITION, RESOURCE, POLICY)
PAGED = (SUBSCRIPTION, *STATE, *KEPT, SET_ASIDE, *CATALOG)
"""Those whose keys are not used twice, whatever the shard."""

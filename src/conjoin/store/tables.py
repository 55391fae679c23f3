"""Tables: the name, the row and the key of each, so that one statement writes any of them."""

import types
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, get_args, get_type_hints

from conjoin.store import rows


@dataclass(frozen=True)
class Table:
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


def _plain(hint: Any) -> type:
    plain: type = get_args(hint)[0] if isinstance(hint, types.UnionType) else hint
    return plain


MESSAGE = Table("message", rows.MessageRow)
SUBSCRIPTION = Table("subscription", rows.SubscriptionRow, ("tenant_id", "correlation_key", "key"))
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
LOG = Table("log", rows.LogRow, ("version",))

STATE = (MESSAGE, SUBSCRIPTION, LOCK, INSTANCE, JOB, TIMER, INCIDENT, SIGNAL, SCOPE)
KEPT = (DEAD_LETTER, INBOX, INBOX_CONTENT, INBOX_ATTEMPT)
"""What is kept beside the state: it is looked after by people, and nothing of the state follows from it."""
SHARD = (*STATE, *KEPT, SET_ASIDE, INBOX_GROUP, OUTBOX, RECEIVED, POSITION, LOG)

DEFINITION = Table("definition", rows.DefinitionRow)
RESOURCE = Table("resource", rows.ResourceRow, ("digest",))
POLICY = Table("policy", rows.PolicyRow, ("catalog_version", "name"))
CATALOG = (DEFINITION, RESOURCE, POLICY)
PAGED = (*STATE, *KEPT, SET_ASIDE, *CATALOG)
"""Those whose keys are not used twice, whatever the shard."""

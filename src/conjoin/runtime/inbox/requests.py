"""Requests to the inbox of a shard, and the reply. Each request is carried out in one commit.

They are plain values that can be sent to the process that has the shard. `horizon` is the instant of a run: what is
due up to then belongs to it, and what it has tried or looked at in vain is due later, so that a run comes to its end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conjoin.kernel.inbox import InboxMessage, InboxSettings
from conjoin.kernel.inbox.operations import Operation, OperationRefused
from conjoin.kernel.inbox.outcomes import Outcome
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.rows import Filed
from conjoin.runtime.ingest.dead_letters import DeadLetter
from conjoin.store.rows import InboxAttemptRow, InboxContentRow, InboxRow

AT_ONCE = 1_000
"""Messages in a commit, about."""
RULES_SOURCE, RULES_PART = "inbox", "rules"
"""Under these the rules that hold messages back are noted among the positions of a shard."""


class InboxRequest:
    __slots__ = ()


@dataclass(frozen=True, slots=True)
class InboxArrivals(InboxRequest):
    """Messages that were accepted, with their order; the shard gives the keys. One that is known is a duplicate."""

    arrivals: Sequence[Filed]
    dead_letters: Sequence[DeadLetter] = ()


@dataclass(frozen=True, slots=True)
class InboxRules(InboxRequest):
    """From now on groups are held back by these rules. If they are new, every group is looked at once more."""

    rules: str
    after: str = ""
    """Groups up to this one have been woken."""


def rules_of(settings: InboxSettings) -> str:
    """The settings by which a message is held back by others."""
    return f"{settings.mode} {settings.group_gate} {'blocks' if settings.exhausted_blocks else 'passes'}"


@dataclass(frozen=True, slots=True)
class InboxRun(InboxRequest):
    """Try what is due in the groups that a shard can deal with alone; or in these of them, due or not."""

    settings: InboxSettings
    horizon: int
    limit: int = AT_ONCE
    groups: Sequence[str] = ()
    failing: Mapping[int, str] = field(default_factory=dict)
    """Messages that could not be tried, and why: that is booked as a failed attempt."""


@dataclass(frozen=True, slots=True)
class InboxTurn(InboxRequest):
    """What is due of one message, if anything: an attempt, an expiration, an answer that came late."""

    key: int
    settings: InboxSettings
    horizon: int
    failing: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class InboxRest(InboxRequest):
    """Nothing more happens in a group before an instant, or at all; unless it was touched after this version."""

    group_key: str
    version: int
    due_at: int | None


@dataclass(frozen=True, slots=True)
class InboxIntend(InboxRequest):
    """Of each group for one of these remote targets that is due, the next message: it is about to be sent."""

    settings: InboxSettings
    horizon: int
    targets: Sequence[str]
    limit: int = AT_ONCE


@dataclass(frozen=True, slots=True)
class InboxBook(InboxRequest):
    """The outcomes of calls. `rested` are groups of which a run tries no more."""

    outcomes: Sequence[tuple[int, Outcome, str]]
    """The key, the outcome and the request, for the history."""
    settings: InboxSettings
    horizon: int
    rested: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class InboxOperate(InboxRequest):
    """An operation on messages."""

    keys: Sequence[int]
    operation: Operation
    who: str
    settings: InboxSettings


@dataclass(frozen=True, slots=True)
class InboxCleanup(InboxRequest):
    """End what is past its expiration, and remove what has been over for long enough, unless `keeps_all`."""

    settings: InboxSettings
    limit: int = AT_ONCE
    keeps_all: bool = False


@dataclass(frozen=True, slots=True)
class InboxMoveIn(InboxRequest):
    """A message comes from another shard with everything that belongs to it, unless it is here already."""

    row: InboxRow
    content: InboxContentRow
    history: Sequence[InboxAttemptRow]


@dataclass(frozen=True, slots=True)
class InboxMoveOut(InboxRequest):
    """A message has arrived on its new shard. Here stays only that it is known."""

    key: int


@dataclass(slots=True)
class InboxReply:
    """Fields that do not belong to the request are empty."""

    counts: Counts = field(default_factory=Counts)
    looked_at: int = 0
    """Groups of this run that were due; 0: none is left."""
    held: list[str] = field(default_factory=list)
    """Groups in which an answer of our own engine is still to come, from another shard."""
    outcome: Outcome | None = None
    """Of a turn; None: not due, or its answer is still to come."""
    to_send: list[InboxMessage] = field(default_factory=list)
    answers: list[InboxMessage | OperationRefused] = field(default_factory=list)
    """Of an operation, in the order of the keys."""
    next_group: str | None = None
    """Rules: there are more groups to be woken after this one."""

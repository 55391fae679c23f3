"""The batch of one run, its replies and its commit."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from conjoin.errors import OutcomeUnknown
from conjoin.kernel.correlation import events as e
from conjoin.runtime.client_api.answers import ActivatedJob
from conjoin.runtime.engine.shard import Decided
from conjoin.store.port import Head
from conjoin.store.rows import InstanceRow, JobRow, MessageRow, OutboxRow, PositionRow

Mail = Sequence[tuple[int, OutboxRow]]
"""Orders with the shard that sent them, each sender's in their order."""


class Origin(NamedTuple):
    """Where the requests of a batch come from: the source, and of each request its part of it and its position there.

    Positions of a part grow; what was taken before is not taken again.
    """

    source: str
    places: Sequence[tuple[str, int]]


_ALONE = "\x1f"


def rows_source(source: str) -> str:
    """The source under which rows are noted one by one, while they come in no order; `row_place` says how."""
    return source + _ALONE


def whole_source(source: str) -> str | None:
    """The one of whose rows that is."""
    return source.removesuffix(_ALONE) if source.endswith(_ALONE) else None


def row_place(part: str, place: int) -> tuple[str, int]:
    return f"{part}{_ALONE}{place}", 0


def place_of_row(name: str) -> tuple[str, int]:
    """The part and the place of a row, by the part that it is for itself."""
    part, _, place = name.rpartition(_ALONE)
    return part, int(place)


@dataclass(slots=True)
class Batch:
    """Orders from other shards' outboxes, then requests."""

    requests: Sequence[object] = ()
    """Commands, messages, sweeps, and the requests of `set_aside.py` and `inbox/requests.py`."""
    deliveries: Mail = ()
    counter: int = 0
    """Keys handed out are not smaller, so that they order across shards."""
    taken: Sequence[int] = ()
    """Numbers of our own outbox that their receivers have taken: they are deleted."""
    origin: Origin | None = None
    positions: Sequence[PositionRow] = ()
    """How far a source was read, when this batch is taken."""


PROBE = object()
"""A request that writes nothing but its commit: can the shard commit?"""


@dataclass(slots=True)
class Reply:
    """What was decided of a request; the key that a message got; the jobs that a worker gets; how much was due."""

    decided: Decided = ()
    key: int = 0
    answer: e.Event | None = None
    """For the client of a message: the instance that took it, or why none. It may come from a later commit."""
    awaits_answer: bool = False
    repeated: bool = False
    """It was carried out before, by another run; what was decided is in the log."""
    jobs: Sequence[ActivatedJob] = ()
    swept: int = 0
    inbox: Any = None
    """An `InboxReply` (`inbox/requests.py`), which is not known here."""


@dataclass(slots=True)
class Commit:
    """A commit. `answers` are those that synchronous messages waited for, by message; `receivers` have mail."""

    replies: list[Reply]
    head: Head
    answers: dict[int, e.Event]
    receivers: set[int]
    receivers_of_requests: set[int]
    """Those of them whose mail follows from the requests, and not from the deliveries, of the batch."""
    committed: bool = True
    """False: there was nothing to write."""
    messages: Sequence[MessageRow] = ()
    """Written by this commit, as are jobs."""
    jobs: Sequence[JobRow] = ()
    ended: Sequence[InstanceRow] = ()
    """The instances that have ended."""
    decided: Sequence[MessageRow] = ()
    """Of the messages those whose verdict has changed."""
    shard: int = 0


def accepted_at_least(error: BaseException) -> OutcomeUnknown:
    """A request was committed, and what follows from it on another shard failed: it is not reported as not done."""
    return OutcomeUnknown(f"it was accepted, but what follows from it has failed and is tried again ({error})")

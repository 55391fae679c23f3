"""What one run is asked, and what it answers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from conjoin.kernel.correlation import events as e
from conjoin.runtime.client_api.answers import ActivatedJob
from conjoin.store.port import Head
from conjoin.store.rows import InstanceRow, JobRow, MessageRow, OutboxRow, PositionRow


class Origin(NamedTuple):
    """Where the requests of a batch come from: the source, and of each request its part of it and its place there.

    Places of a part grow; what was taken before is not taken again.
    """

    source: str
    places: Sequence[tuple[str, int]]


@dataclass(slots=True)
class Batch:
    """Orders from other shards' outboxes, then requests."""

    requests: Sequence[Any] = ()
    """Commands, messages, sweeps, and what `set_aside.py` and `inbox/requests.py` know."""
    deliveries: Sequence[tuple[int, OutboxRow]] = ()
    counter: int = 0
    """Keys handed out are not smaller, so that they order across shards."""
    taken: Sequence[int] = ()
    """Numbers of our own outbox that their receivers have taken: they can go."""
    origin: Origin | None = None
    positions: Sequence[PositionRow] = ()
    """How far a source was read, when this batch is taken."""


PROBE = object()
"""A request that writes nothing but its commit: can the shard commit?"""


@dataclass(slots=True)
class Reply:
    """What was decided of a request; the key that a message got; the jobs that a worker gets; how much was due."""

    decided: Sequence[Any] = ()
    key: int = 0
    answer: e.Event | None = None
    """What a message's client hears: the instance that took it, or why not. It may come from a later commit."""
    awaits_answer: bool = False
    repeated: bool = False
    """It was carried out before, by another run; what was decided is in the log."""
    jobs: Sequence[ActivatedJob] = ()
    swept: int = 0
    inbox: Any = None
    """What the inbox of the shard has answered (`inbox/requests.py`)."""


@dataclass(slots=True)
class Commit:
    """A commit. `answers` are those that synchronous messages waited for, by message; `receivers` have post."""

    replies: list[Reply]
    head: Head
    answers: dict[int, e.Event]
    receivers: set[int]
    receivers_of_requests: set[int]
    """Those of them whose post follows from the requests, and not from the deliveries, of the batch."""
    committed: bool = True
    """False: there was nothing to write."""
    messages: Sequence[MessageRow] = ()
    """Those that this commit has written; so with the others."""
    jobs: Sequence[JobRow] = ()
    instances: Sequence[InstanceRow] = ()
    decided: Sequence[MessageRow] = ()
    """Of the messages those whose verdict is another one than before this commit."""

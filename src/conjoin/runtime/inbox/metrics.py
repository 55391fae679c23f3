"""Metrics: what a process has done with the inbox, and the state of the inbox, as plain samples.

Counters begin with the process and only grow; `Counts` are those of one request, and add up. No wire format here.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from threading import Lock
from time import perf_counter
from typing import NamedTuple

from conjoin.kernel.inbox.message import FAULTS, PARKED, STATES, TARGET_ERROR, InboxMessage
from conjoin.kernel.inbox.outcomes import Delivered, Expired, Failed, Outcome

COUNTER, GAUGE = "counter", "gauge"
NO_LABELS: Mapping[str, str] = {}


@dataclass(slots=True)
class Counts:
    received: int = 0
    """Brought by a source: all that follow down to dead_lettered, together."""
    ignored: int = 0
    """Of a type that its channel does not want."""
    dropped: int = 0
    """Sent to a channel that is not enabled."""
    accepted: int = 0
    """Readable: persisted, or a duplicate."""
    persisted: int = 0
    duplicate: int = 0
    dead_lettered: int = 0

    correlated: int = 0
    """Taken over by their target."""
    decode_error: int = 0
    mapping_error: int = 0
    target_error: int = 0
    """Attempts that failed, by class; those in the grace time, too."""
    retried: int = 0
    """Attempts that were not the first of their message."""
    parked: int = 0
    expired: int = 0
    removed: int = 0
    """Rows that were over for longer than their retention."""

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, it.name) + getattr(other, it.name) for it in fields(Counts)))

    def note_try(self, message: InboxMessage) -> None:
        """As it is before the attempt."""
        self.retried += message.tried_at is not None

    def note(self, before: InboxMessage, outcome: Outcome, after: InboxMessage) -> None:
        """An outcome that was booked."""
        if isinstance(outcome, Expired):
            self.expired += 1
            return
        self.parked += after.state == PARKED != before.state
        if isinstance(outcome, Delivered):
            self.correlated += 1
        else:
            # The counter of an error has the name of its class.
            kind = outcome.kind if isinstance(outcome, Failed) and outcome.kind in FAULTS else TARGET_ERROR
            setattr(self, kind, getattr(self, kind) + 1)


class Gauges(NamedTuple):
    """How many messages are in each state, and for how long the one that is due first has been due, in milliseconds."""

    states: Mapping[str, int]
    oldest_due_ms: int


class Sample(NamedTuple):
    """`failed` is labelled by `class`, `messages` by `state`; a unit is the end of a name."""

    name: str
    kind: str
    value: int
    labels: Mapping[str, str] = NO_LABELS


class InboxMeter:
    """Counts from several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counts = Counts()
        self._runs = 0
        self._run_ms = 0

    def count(self, counts: Counts) -> Counts:
        """The same counts, noted."""
        with self._lock:
            self._counts += counts
        return counts

    @contextmanager
    def timed(self) -> Iterator[None]:
        """A run; one that fails is none."""
        began = perf_counter()
        yield
        with self._lock:
            self._runs += 1
            self._run_ms = round((perf_counter() - began) * 1_000)

    def samples(self, gauges: Gauges) -> list[Sample]:
        with self._lock:
            counts, runs, run_ms = asdict(self._counts), self._runs, self._run_ms
        failed = [Sample("failed", COUNTER, counts.pop(kind), {"class": kind}) for kind in FAULTS]
        return [
            *(Sample(name, COUNTER, value) for name, value in counts.items()),
            *failed,
            Sample("runs", COUNTER, runs),
            *(Sample("messages", GAUGE, gauges.states.get(state, 0), {"state": state}) for state in STATES),
            Sample("oldest_due_ms", GAUGE, gauges.oldest_due_ms),
            Sample("run_ms", GAUGE, run_ms),
        ]

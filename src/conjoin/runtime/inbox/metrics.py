"""Metrics: what a process has done with the inbox, and how the inbox is, as plain samples for whoever prints them.

Counters begin with the process and only grow. Nothing is decided here, and nothing knows of a wire format.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from threading import Lock
from time import perf_counter
from typing import NamedTuple

from conjoin.kernel.inbox.message import FAULTS, STATES
from conjoin.runtime.inbox.counts import Counts

COUNTER, GAUGE = "counter", "gauge"
NO_LABELS: Mapping[str, str] = {}


class Gauges(NamedTuple):
    """How many messages are in each state, and for how long the one that is due first has been due, in milliseconds."""

    states: Mapping[str, int]
    oldest_due_ms: int


class Sample(NamedTuple):
    """`failed` is told by `class`, `messages` by `state`; a unit is the end of a name."""

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
        messages = [Sample("messages", GAUGE, gauges.states.get(state, 0), {"state": state}) for state in STATES]
        return [
            *(Sample(name, COUNTER, value) for name, value in counts.items()),
            *failed,
            Sample("runs", COUNTER, runs),
            *messages,
            Sample("oldest_due_ms", GAUGE, gauges.oldest_due_ms),
            Sample("run_ms", GAUGE, run_ms),
        ]

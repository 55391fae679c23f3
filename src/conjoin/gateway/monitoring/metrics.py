"""Metrics for Prometheus: what this process has done, and how the store is. A registry of our own, nothing global.

What happened is counted when it happens. How much is open is read from the store, at most every few seconds and the
more seldom the longer it takes, so that no scrape can slow a large store down.
"""

import logging
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from conjoin.errors import StoreFailed
from conjoin.gateway.monitoring.job_metrics import SupervisionFigures
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import Meets
from conjoin.runtime.run.batches import Commit as Commit
from conjoin.store.reading import Reading, reading

_LOG = logging.getLogger(__name__)
_A = TypeVar("_A")
_KEPT_S = 5.0
_SHARE = 20
"""Reading the figures takes no more than this part of the time."""
_PATIENCE_S, _LONGEST_S = 1.0, 30.0
"""So long a scrape waits for new figures, and so long they are read at most."""
_MOST = 1_000_000_000
_BATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)

OPEN: dict[str, tuple[str, dict[str, Any]]] = {
    # Live ones stand in an index of their own, however many are over.
    "buffered_messages": ("message", {"live": 1, "verdict": Meets((("=", "buffered"), ("<>", "correlated")))}),
    "open_subscriptions": ("subscription", {"closed_at": None}),
    "active_instances": ("instance", {"state": Meets((("=", "active"), ("<>", "completed")))}),
    "open_jobs": ("job", {"state": Meets((("<>", "error_thrown"),))}),
    "open_incidents": ("incident", {}),
}
"""What is open: the table, and which of its rows."""


class Outcome:
    """What came of a publish, once it is known."""

    def __init__(self) -> None:
        self.word = "failed"

    def noted(self, answer: _A) -> _A:
        self.word = answer.code.lower() if isinstance(answer, Refusal) else "accepted"
        return answer


class Metrics:
    def __init__(self, broker: Broker, inbox: Inbox | None = None) -> None:
        self.registry = CollectorRegistry()
        at = self.registry
        self._publishes = Counter("conjoin_publishes", "Messages handed in", ["edge", "outcome"], registry=at)
        self._latency = Histogram(
            "conjoin_publish_seconds", "From a publish to its answer", ["edge"], buckets=_SECONDS, registry=at
        )
        self._verdicts = Counter("conjoin_verdicts", "What became of messages", ["verdict", "reason"], registry=at)
        self._batches = Histogram("conjoin_commit_requests", "Requests in one commit", buckets=_BATCHES, registry=at)
        self._auth_failures = Counter(
            "conjoin_auth_failures", "Callers that could not say who they are", ["kind"], registry=at
        )
        self.registry.register(_StoreFigures(broker, inbox))
        self.registry.register(SupervisionFigures(broker))

    @contextmanager
    def publishing(self, edge: str) -> Iterator[Outcome]:
        """Around a publish; `edge` is the way it came."""
        outcome, began = Outcome(), time.perf_counter()
        try:
            yield outcome
        finally:
            self._latency.labels(edge).observe(time.perf_counter() - began)
            self._publishes.labels(edge, outcome.word).inc()

    def count_published(self, edge: str, answers: Iterable[Any]) -> None:
        """Of a bulk."""
        words = Tally(answer.code.lower() if isinstance(answer, Refusal) else "accepted" for answer in answers)
        for word, count in words.items():
            self._publishes.labels(edge, word).inc(count)

    def auth_failed(self, kind: str) -> None:
        self._auth_failures.labels(kind).inc()

    def committed(self, commit: Commit) -> None:
        """In the thread of a shard, after each commit."""
        self._batches.observe(len(commit.replies))
        for row in commit.decided:
            self._verdicts.labels(row.verdict, row.reason).inc()

    def text(self) -> bytes:
        """As Prometheus reads it. The store may be looked at."""
        return generate_latest(self.registry)


class _StoreFigures(Collector):
    """How much is open, and how the inbox is; read again when what is known has become old."""

    def __init__(self, broker: Broker, inbox: Inbox | None) -> None:
        self._broker = broker
        self._inbox = inbox
        self._turn = Lock()
        self._thread = ThreadPoolExecutor(1, "figures")
        self._reading: Future[None] | None = None
        self._known: list[Metric] = []
        self._until, self._read_at = 0.0, time.monotonic()

    def describe(self) -> Iterable[Metric]:
        """Nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """What is known; nobody waits long for what is being read."""
        with self._turn:
            if time.monotonic() >= self._until and (self._reading is None or self._reading.done()):
                self._reading = self._thread.submit(self._read)
        if self._reading is not None:
            wait([self._reading], _PATIENCE_S)
        age = GaugeMetricFamily("conjoin_store_figures_age_seconds", "How old what was read from the store is")
        age.add_metric([], time.monotonic() - self._read_at)
        return [*self._known, age]

    def _read(self) -> None:
        began = time.monotonic()
        try:
            with reading(Reading(_LONGEST_S)):
                self._known = [*self._open(), *self._of_inbox()]
                self._read_at = time.monotonic()
        except StoreFailed as error:
            _LOG.warning("the figures of the store were not read: %s", error)
        ended = time.monotonic()
        self._until = ended + max(_KEPT_S, _SHARE * (ended - began))

    def _open(self) -> Iterator[Metric]:
        for name, (table, where) in OPEN.items():
            count = finding.count(self._broker, table, where, _MOST)
            yield GaugeMetricFamily(f"conjoin_{name}", name.replace("_", " ").capitalize(), value=count)

    def _of_inbox(self) -> Iterator[Metric]:
        families: dict[str, Metric] = {}
        for sample in self._inbox.metrics() if self._inbox is not None else ():
            make: Callable[..., Any] = CounterMetricFamily if sample.kind == "counter" else GaugeMetricFamily
            name = f"conjoin_inbox_{sample.name}"
            family: Any = families.get(name)
            if family is None:
                text = f"Of the inbox: {sample.name.replace('_', ' ')}"
                family = families[name] = make(name, text, labels=list(sample.labels))
            family.add_metric(list(sample.labels.values()), sample.value)
        yield from families.values()

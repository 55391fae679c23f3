"""Metrics for Prometheus: what this process has done, the state of its background jobs and of the store.

The registry is our own, not the global one. Events are counted as they happen. How much is open is read from the store,
at most every few seconds and less often the longer that takes, so that no scrape can slow down a large store.
"""

import logging
import time
from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from threading import Lock
from typing import Any, TypeVar

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from conjoin.errors import StoreFailed
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import Refusal
from conjoin.runtime.clock import SteadyClock
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.reading import finding
from conjoin.runtime.reading.finding import Meets
from conjoin.runtime.run.batches import Commit as Commit
from conjoin.store.reading import Reading, reading

_LOG = logging.getLogger(__name__)
_A = TypeVar("_A")
_KEPT_S = 5.0
_SHARE = 20
"""Reading the figures takes at most one part in so many of the time."""
_PATIENCE_S, _LONGEST_S = 1.0, 30.0
"""How long a scrape waits for new figures, and the timeout for reading them."""
_MOST = 1_000_000_000
_SWEEP = "sweep-"
_BATCHES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)

OPEN: dict[str, tuple[str, dict[str, Any]]] = {
    # Live ones have an index of their own, however many are over.
    "buffered_messages": ("message", {"live": 1, "verdict": Meets((("=", "buffered"), ("<>", "correlated")))}),
    "open_subscriptions": ("subscription", {"closed_at": None}),
    "active_instances": ("instance", {"state": Meets((("=", "active"), ("<>", "completed")))}),
    "open_jobs": ("job", {"state": Meets((("<>", "error_thrown"),))}),
    "open_incidents": ("incident", {}),
}
"""What is open: the table, and the condition on its rows."""


class Outcome:
    """Of a publish; `failed` until its answer is noted."""

    word = "failed"

    def noted(self, answer: _A) -> _A:
        self.word = _outcome(answer)
        return answer


class Metrics:
    def __init__(self, broker: Broker, inbox: Inbox | None = None) -> None:
        self.registry = CollectorRegistry()
        at = self.registry
        self._publishes = Counter("conjoin_publishes", "Messages received", ["edge", "outcome"], registry=at)
        self._latency = Histogram(
            "conjoin_publish_seconds", "From a publish to its answer", ["edge"], buckets=_SECONDS, registry=at
        )
        self._verdicts = Counter("conjoin_verdicts", "What became of messages", ["verdict", "reason"], registry=at)
        self._batches = Histogram("conjoin_commit_requests", "Requests in one commit", buckets=_BATCHES, registry=at)
        self._auth_failures = Counter(
            "conjoin_auth_failures", "Callers that could not be authenticated", ["kind"], registry=at
        )
        self.registry.register(_StoreFigures(broker, inbox))
        self.registry.register(_SupervisionFigures(broker))

    @contextmanager
    def publishing(self, edge: str) -> Iterator[Outcome]:
        """Around a publish; `edge` is the interface it came by."""
        outcome, began = Outcome(), time.perf_counter()
        try:
            yield outcome
        finally:
            self._latency.labels(edge).observe(time.perf_counter() - began)
            self._publishes.labels(edge, outcome.word).inc()

    def count_published(self, edge: str, answers: Iterable[Any]) -> None:
        """Of a bulk."""
        for outcome, count in Tally(map(_outcome, answers)).items():
            self._publishes.labels(edge, outcome).inc(count)

    def auth_failed(self, kind: str) -> None:
        self._auth_failures.labels(kind).inc()

    def committed(self, commit: Commit) -> None:
        """In the thread of a shard, after each commit."""
        self._batches.observe(len(commit.replies))
        for row in commit.decided:
            self._verdicts.labels(row.verdict, row.reason).inc()

    def text(self) -> bytes:
        """In the format of Prometheus. It may read the store."""
        return generate_latest(self.registry)


def _outcome(answer: Any) -> str:
    return answer.code.lower() if isinstance(answer, Refusal) else "accepted"


class _StoreFigures(Collector):
    """How much is open, and the figures of the inbox; read again once they are old."""

    def __init__(self, broker: Broker, inbox: Inbox | None) -> None:
        self._broker = broker
        self._inbox = inbox
        self._turn = Lock()
        self._thread = ThreadPoolExecutor(1, "figures")
        self._reading: Future[None] | None = None
        self._known: list[Metric] = []
        self._until, self._read_at = 0.0, time.monotonic()

    def describe(self) -> Iterable[Metric]:
        """Nothing is read on registration."""
        return ()

    def collect(self) -> Iterable[Metric]:
        """What is known by now: a scrape does not wait long for a read."""
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


class _SupervisionFigures(Collector):
    """The supervisor's report: background jobs, how late sweeps are, what is set aside, the clock. No store is read."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        jobs, count, gauge = self._broker.supervisor.report(), CounterMetricFamily, GaugeMetricFamily
        failures = {it.name: it.failures for it in jobs}
        yield _family(count, "background_failures", "Failures of background jobs", failures)
        ages = {it.name: it.age_s for it in jobs}
        yield _family(gauge, "background_last_success_age_seconds", "Since a job last succeeded", ages)
        busy = {it.name: it.busy_s for it in jobs}
        yield _family(gauge, "background_busy_seconds", "How long a job has been at what it does", busy)
        down = {it.name: float(it.state == "down") for it in jobs}
        yield _family(gauge, "background_down", "1: late beyond its bound, or failing", down)
        lags = {it.name.removeprefix(_SWEEP): it.late_s for it in jobs if it.name.startswith(_SWEEP)}
        yield _family(gauge, "sweep_lag_seconds", "How late a shard is swept", lags, "shard")
        set_aside = sum(self._broker.supervisor.set_aside.values())
        yield gauge("conjoin_set_aside", "Items that could not be carried out", value=set_aside)
        ahead = self._broker.clock.ahead_us / 1_000_000
        yield gauge("conjoin_store_ahead_seconds", "How far the store is ahead of the clock", value=ahead)
        clock = self._broker.clock.clock
        if isinstance(clock, SteadyClock):
            yield count("conjoin_clock_jumps", "Jumps of the wall clock that were not followed", value=clock.jumps)
            offset = clock.offset_us / 1_000_000
            yield gauge("conjoin_clock_offset_seconds", "How far the wall clock is ahead", value=offset)


def _family(kind: Any, name: str, text: str, values: Mapping[str, float], label: str = "job") -> Metric:
    family = kind(f"conjoin_{name}", text, labels=[label])
    for which, value in values.items():
        family.add_metric([which], value)
    return family  # type: ignore[no-any-return]

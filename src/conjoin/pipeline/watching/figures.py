"""PipelineFigures: what a pipeline has done and holds, for Prometheus, read when somebody asks.

Counts are those of committed batches since the process began; a batch that died and was taken again counts once.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from conjoin.errors import InputError

if TYPE_CHECKING:
    from conjoin.pipeline.declared.pipeline import PipelineResult
    from conjoin.pipeline.watching.query_listener import QueryProgress

_MICROS = 1_000_000


class PipelineFigures(Collector):
    """Of one pipeline. Whoever runs it hands over what it has done; nothing is copied."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._result: PipelineResult | None = None
        self._progress: QueryProgress | None = None
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def take(self, result: "PipelineResult") -> None:
        self._result = result

    def hear(self, progress: "QueryProgress") -> None:
        self._progress = progress

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        if self._result is not None:
            yield from self._done(self._result)
            yield from self._held(self._result)
        if self._progress is not None:
            yield from self._of_query(self._progress)

    def _done(self, result: "PipelineResult") -> Iterator[Metric]:
        yield self._counter("rows", "Rows that were taken", [((), result.rows)])
        yield self._counter("batches", "Batches that were committed", [((), result.batches)])
        out = [((name,), count) for name, count in dict(result.out).items()]
        yield self._counter("out", "Rows of each output", out, "output")
        verdicts = [((*why,), count) for why, count in dict(result.verdicts).items()]
        yield self._counter("verdicts", "What became of messages", verdicts, "verdict", "reason")
        letters = [(what.split(" ", 1), count) for what, count in dict(result.dead_letters).items()]
        yield self._counter("dead_letters", "Rows that could not be used", letters, "table", "reason")

    def _held(self, result: "PipelineResult") -> Iterator[Metric]:
        held = [((kind,), count) for kind, count in dict(result.held).items()]
        yield self._gauge("held_rows", "Rows that the state holds", held, "kind")
        last = result.last
        if last is None:
            return
        yield self._gauge("state_bytes", "Size of the state", [((), last.state_bytes)])
        yield self._gauge("batch_seconds", "How long the last batch took", [((), last.seconds)])
        yield self._gauge("batch_rows", "Rows of the last batch", [((), last.rows)])
        yield self._gauge("batch_buckets", "Buckets that the last batch has opened", [((), last.buckets)])
        for name, what, instant in (
            ("latest_lag_seconds", "How old the latest row is that was ever seen", last.latest),
            ("decided_lag_seconds", "How long ago the instant is up to which everything is decided", last.as_of),
        ):
            if instant is not None:
                yield self._gauge(name, what, [((), time.time() - instant / _MICROS)])

    def _of_query(self, progress: "QueryProgress") -> Iterator[Metric]:
        yield self._gauge("spark_batch", "Number of Spark's last batch", [((), progress.batch)])
        yield self._gauge("spark_rows_per_second", "Rate of Spark's last batch", [((), progress.rows_per_s)])
        seconds = [((name,), value) for name, value in progress.seconds.items()]
        yield self._gauge("spark_seconds", "What Spark's last batch spent time on", seconds, "on")
        behind = [((*where,), count) for where, count in progress.behind.items()]
        yield self._gauge("source_behind", "What a source has and did not give yet", behind, "source", "unit")

    def _counter(
        self, name: str, what: str, values: Iterable[tuple[Iterable[str], float]], *labels: str
    ) -> CounterMetricFamily:
        family = CounterMetricFamily(f"conjoin_pipeline_{name}", what, labels=["pipeline", *labels])
        for label_values, value in values:
            family.add_metric([self._name, *label_values], value)
        return family

    def _gauge(
        self, name: str, what: str, values: Iterable[tuple[Iterable[str], float]], *labels: str
    ) -> GaugeMetricFamily:
        family = GaugeMetricFamily(f"conjoin_pipeline_{name}", what, labels=["pipeline", *labels])
        for label_values, value in values:
            family.add_metric([self._name, *label_values], value)
        return family


def address_in(text: str) -> tuple[str, int]:
    """`9400` is on this machine only, `0.0.0.0:9400` for others, too."""
    host, _, port = text.rpartition(":")
    if not (port.isascii() and port.isdecimal() and int(port) < 65_536):
        raise InputError([f"--metrics: {text!r} is neither PORT nor ADDRESS:PORT"])
    return host.strip("[]") or "127.0.0.1", int(port)


@contextmanager
def figures_served(figures: PipelineFigures, address: str) -> Iterator[int]:
    """Under /metrics, while it lasts; yields the port. It is bound before anything else begins."""
    host, port = address_in(address)
    try:
        server, thread = start_http_server(port, host, figures.registry)
    except OSError as error:
        raise InputError([f"--metrics: {address} cannot be listened on: {error.strerror}"]) from None
    try:
        yield int(server.server_port)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

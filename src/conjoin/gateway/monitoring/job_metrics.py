"""The supervisor's report as metrics: how every job is doing, how late sweeps are, what is set aside, the clock."""

from collections.abc import Iterable, Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from conjoin.runtime.broker import Broker
from conjoin.runtime.clock import SteadyClock
from conjoin.runtime.upkeep.supervision import JobReport

_JOB = ("job",)
_SWEEP = "sweep-"


class SupervisionFigures(Collector):
    """Nothing of it is read from the store."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        supervisor = self._broker.supervisor
        jobs = supervisor.report()
        failures = CounterMetricFamily("conjoin_background_failures", "What failed beside the requests", labels=_JOB)
        for it in jobs:
            failures.add_metric([it.name], it.failures)
        yield failures
        yield _gauge("conjoin_background_last_success_age_seconds", "Since a job last succeeded", jobs, "age_s")
        yield _gauge("conjoin_background_busy_seconds", "How long a job has been at what it does", jobs, "busy_s")
        down = GaugeMetricFamily("conjoin_background_down", "1: late beyond its bound, or failing", labels=_JOB)
        lag = GaugeMetricFamily("conjoin_sweep_lag_seconds", "How late a shard is swept", labels=("shard",))
        for it in jobs:
            down.add_metric([it.name], float(it.state == "down"))
            if it.name.startswith(_SWEEP):
                lag.add_metric([it.name.removeprefix(_SWEEP)], it.late_s)
        yield from (down, lag)
        count = sum(supervisor.set_aside.values())
        yield GaugeMetricFamily("conjoin_set_aside", "Items that could not be carried out", value=count)
        yield from _of_clock(self._broker)


def _gauge(name: str, text: str, jobs: list[JobReport], field: str) -> Metric:
    family = GaugeMetricFamily(name, text, labels=_JOB)
    for it in jobs:
        family.add_metric([it.name], getattr(it, field))
    return family


def _of_clock(broker: Broker) -> Iterator[Metric]:
    ahead = broker.clock.ahead_us / 1_000_000
    yield GaugeMetricFamily("conjoin_store_ahead_seconds", "How far the store is ahead of the clock", value=ahead)
    clock = broker.clock.clock
    if isinstance(clock, SteadyClock):
        jumps = CounterMetricFamily("conjoin_clock_jumps", "Jumps of the wall clock that were not followed")
        jumps.add_metric([], clock.jumps)
        yield jumps
        offset = clock.offset_us / 1_000_000
        yield GaugeMetricFamily("conjoin_clock_offset_seconds", "How far the wall clock is ahead", value=offset)

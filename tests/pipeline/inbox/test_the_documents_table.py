"""The example of the document on scheduled batch processing, row by row, whoever runs the schedule.

A message with 10 s to live, whose error no retry resolves; a poll every 6 s, base 2, at most 10 minutes, 5 retries.
"""

from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

import pytest

from conjoin.kernel.inbox import InboxSettings
from conjoin.runtime.opening import temporary_broker
from conjoin.testing.clock import FakeClock
from tests.pipeline.inbox.stores import make
from tests.runtime.inbox.bench import CHANNELS, Bench, preset

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SETTINGS = preset("correlate-docs", backoff_base=2.0, backoff_cap=600_000, max_attempts=5)


class Booked(NamedTuple):
    """Seconds are from when the message was ingested."""

    is_picked_up: bool
    attempt: int
    next_retry_s: int | None


DOCUMENT = {
    6: Booked(True, 0, None),
    12: Booked(True, 1, 72),
    18: Booked(False, 1, 72),
    72: Booked(True, 2, 192),
    192: Booked(True, 3, 432),
    432: Booked(True, 4, 600),
    600: Booked(True, 5, 600),
    606: Booked(False, 5, 600),
}
POLLS = sorted({*DOCUMENT, *(second - 6 for second in DOCUMENT if second > 6), 612})
"""Of the polls every 6 s those of the rows, and the one before each, at which nothing may happen."""


class Way(Protocol):
    def poll(self, second: int) -> Booked: ...


class OnStore:
    """An inbox of a store, run by this process or by Spark."""

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._began = bench.broker.now
        bench.send("o-1", "m-1", headers=(("X-CORRELATE-TTL", "PT10S"),))

    def poll(self, second: int) -> Booked:
        self._bench.clock.advance_ms(second * 1_000 - (self._bench.broker.now - self._began) // 1_000)
        before = self._bench.row("m-1").tried_at
        self._bench.inbox.run()
        row = self._bench.row("m-1")
        next_s = None if row.next_retry_at is None else (row.next_retry_at - self._began) // 1_000_000
        return Booked(row.tried_at != before, row.attempts, next_s)


class OverTables:
    """No store: the inbox is a table, which each run reads from where the last one has written it."""

    _BEGAN = datetime(2030, 1, 1, tzinfo=UTC)

    def __init__(self, spark: "SparkSession", folder: Path, settings: InboxSettings) -> None:
        from conjoin.pipeline.inbox.tables.folder import ParquetInbox

        self._spark, self._settings = spark, settings
        self._table = ParquetInbox(spark, str(folder))
        self._run(
            0,
            spark.createDataFrame(
                [("m-1", "paid", "o-1", "PT10S")], "id string, name string, key string, grace string"
            ),
        )

    def _run(self, second: int, arrivals: "DataFrame | None") -> None:
        from conjoin.pipeline.inbox import correlate_inbox

        waiting = self._spark.createDataFrame(
            [("order", "paid", "somebody else", self._BEGAN)],
            "process_id string, name string, correlation_key string, opened_at timestamp",
        )
        at = self._BEGAN + timedelta(seconds=second)
        inbox = correlate_inbox(arrivals, waiting, self._table.read(), settings=self._settings, at=at)
        self._table.write(inbox, int(at.timestamp() * 1_000_000), "")

    def poll(self, second: int) -> Booked:
        self._run(second, None)
        table = self._table.read()
        assert table is not None
        [row] = table.selectExpr(
            "*", f"unix_seconds(next_retry_at) - {int(self._BEGAN.timestamp())} as next_s"
        ).collect()
        return Booked(row.outcome is not None, row.attempts, row.next_s)


@pytest.fixture(
    params=["inline", pytest.param("spark", marks=pytest.mark.spark), pytest.param("tables", marks=pytest.mark.spark)]
)
def way(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Way]:
    if request.param == "tables":
        yield OverTables(request.getfixturevalue("spark"), tmp_path / "inbox", SETTINGS)
    elif request.param == "inline":
        clock = FakeClock()
        with closing(temporary_broker(1, clock)) as broker:
            yield OnStore(Bench(broker, clock, SETTINGS))
    else:
        from conjoin.pipeline.inbox import SparkInbox

        bench = make(tmp_path / "store", SETTINGS)
        bench.inbox = SparkInbox(request.getfixturevalue("spark"), bench.broker, SETTINGS, CHANNELS)
        with closing(bench.broker):
            yield OnStore(bench)


def test_the_example_of_the_document_holds_row_by_row(way: Way) -> None:
    seen = {second: way.poll(second) for second in POLLS}
    assert {second: seen[second] for second in DOCUMENT} == DOCUMENT
    assert [second for second, booked in seen.items() if booked.is_picked_up] == [6, 12, 72, 192, 432, 600]

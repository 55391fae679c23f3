"""QueryListener: what Spark says of one query after each of its batches, as one small value.

It is told later than the batch is committed, and not at all of a query that dies: what is counted exactly comes with
the batches themselves (`BatchReport`), and from here only what Spark alone knows.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql.streaming import StreamingQuery, StreamingQueryListener
from pyspark.sql.utils import is_remote

if TYPE_CHECKING:
    from conjoin.pipeline.declared.scheduling import RunningSchedule

_BEHIND = ("maxOffsetsBehindLatest", "numBytesOutstanding", "numFilesOutstanding")
"""What sources call what they have and did not give yet: records of Kafka; bytes or files of a table of Delta."""


class QueryProgress(NamedTuple):
    """After a batch of Spark. `seconds` by what they were spent on; `behind` by source and by what it is counted in."""

    batch: int
    rows: int
    rows_per_s: float
    seconds: dict[str, float]
    behind: dict[tuple[str, str], int]


class QueryListener(StreamingQueryListener):
    """Of the query with this id."""

    def __init__(self, query: str, told: Callable[[QueryProgress], None]) -> None:
        self._query = query
        self._told = told

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's names
        pass

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        if str(event.progress.id) == self._query:
            self._told(progress_of(event.progress))

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        pass

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        pass


def progress_of(told: Any) -> QueryProgress:
    """`told` is Spark's StreamingQueryProgress."""
    behind = {
        (source.description, name): int(source.metrics[name])
        for source in told.sources
        for name in _BEHIND
        if _is_number(source.metrics or {}, name)
    }
    seconds = {name: millis / 1_000 for name, millis in told.durationMs.items()}
    return QueryProgress(told.batchId, told.numInputRows, _known(told.processedRowsPerSecond), seconds, behind)


def _is_number(metrics: Mapping[str, str], name: str) -> bool:
    return str(metrics.get(name, "")).isdecimal()


def _known(rate: float) -> float:
    """Of no time at all Spark makes a rate that is no number."""
    return rate if rate == rate and abs(rate) != float("inf") else 0.0


@contextmanager
def listening(query: "StreamingQuery | RunningSchedule", told: Callable[[QueryProgress], None]) -> Iterator[None]:
    """While it lasts. Spark knows nothing of a schedule; on Spark Connect its listeners run beside the query."""
    if is_remote() or not isinstance(query, StreamingQuery):
        yield
        return
    from pyspark.sql import SparkSession

    spark = SparkSession.getActiveSession()
    assert spark is not None, "a query runs"
    listener = QueryListener(str(query.id), told)
    spark.streams.addListener(listener)
    try:
        yield
    finally:
        spark.streams.removeListener(listener)

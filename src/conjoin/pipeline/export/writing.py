"""Writing the tables of a store with Spark: Parquet files in folders of days, in UTC whatever the session's zone is."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline.export.ranges import CommitRange
from conjoin.pipeline.source import register, store_table

DAY_OF = {
    "events": "at",
    "messages": "published_at",
    "verdicts": "published_at",
    "correlations": "correlated_at",
    "subscriptions": "opened_at",
    "instances": "started_at",
    "dead_letters": "at",
}
"""By the day of which column a table lies in folders; one that is not here lies in one folder."""
DAY = "day"
_DAY_S = 86_400


def read_events(spark: SparkSession, address: str, ranges: Sequence[CommitRange]) -> DataFrame:
    """A task for each range."""
    return reduce(DataFrame.union, [store_table(spark, address, "events", where=it.where) for it in ranges])


class SparkWriter:
    def __init__(self, spark: SparkSession, address: str) -> None:
        register(spark)
        self._spark = spark
        self._address = address

    def events(self, ranges: Sequence[CommitRange], folder: Path) -> int:
        """In each file in the order of the log."""
        events = read_events(self._spark, self._address, ranges).withColumn(DAY, _day_of("events"))
        ordered = events.sortWithinPartitions("shard", DAY, "version", "number")
        return _write(ordered, folder, ["shard", DAY])

    def table(self, name: str, folder: Path) -> int:
        rows = store_table(self._spark, self._address, name)
        if name not in DAY_OF:
            return _write(rows, folder, [])
        rows = rows.withColumn(DAY, _day_of(name))
        written = _write(rows, folder, [DAY])
        if not written:
            # Folders of days would leave no file at all, and a table without columns.
            _write(self._spark.createDataFrame([], rows.schema), folder, [])
        return written


def _day_of(table: str) -> Column:
    days = F.floor(F.unix_seconds(F.col(DAY_OF[table])) / F.lit(_DAY_S))
    return F.date_from_unix_date(days.cast("int"))


def _write(rows: DataFrame, folder: Path, by: list[str]) -> int:
    """As many rows as Spark has seen, which need not be where this process finds them."""
    seen = Observation()
    counted = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
    counted.write.mode("overwrite").partitionBy(*by).parquet(folder.as_uri())
    return int(seen.get["rows"])

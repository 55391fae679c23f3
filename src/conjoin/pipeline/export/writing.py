"""Writing the tables of a store with Spark: Parquet files in folders of days, in UTC whatever the session's zone is."""

from collections.abc import Sequence
from functools import reduce
from pathlib import Path

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline.export.ranges import Range
from conjoin.pipeline.source import register

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
_DAY_S = 86_400


class SparkWriter:
    """Reads through the data source."""

    def __init__(self, spark: SparkSession, address: str) -> None:
        register(spark)
        self._spark = spark
        # Tasks may run in another folder than this process.
        self._place = {"url": address} if "://" in address else {"path": str(Path(address).absolute())}

    def events(self, ranges: Sequence[Range], folder: Path) -> int:
        """In each file in the order of the log."""
        logs = [self._read("events", where=it.where) for it in ranges]
        events = reduce(DataFrame.union, logs).withColumn("day", _day_of("events"))
        ordered = events.sortWithinPartitions("shard", "day", "version", "number")
        return _write(ordered, folder, ["shard", "day"])

    def table(self, name: str, folder: Path) -> int:
        rows = self._read(name)
        if name not in DAY_OF:
            return _write(rows, folder, [])
        rows = rows.withColumn("day", _day_of(name))
        written = _write(rows, folder, ["day"])
        if not written:
            # Folders of days would leave no file at all, and a table without columns.
            _write(self._spark.createDataFrame([], rows.schema), folder, [])
        return written

    def _read(self, table: str, **options: str) -> DataFrame:
        return self._spark.read.format("conjoin").options(**self._place, table=table, **options).load()


def _day_of(table: str) -> Column:
    days = F.floor(F.unix_seconds(F.col(DAY_OF[table])) / F.lit(_DAY_S))
    return F.date_from_unix_date(days.cast("int"))


def _write(rows: DataFrame, folder: Path, by: list[str]) -> int:
    """As many rows as Spark has seen, which need not be where this process finds them."""
    seen = Observation()
    counted = rows.observe(seen, F.count(F.lit(1)).alias("rows"))
    counted.write.mode("overwrite").partitionBy(*by).parquet(folder.as_uri())
    return int(seen.get["rows"])

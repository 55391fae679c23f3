"""The data source as Spark knows it, and how a session learns of it."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource
from pyspark.sql.types import StructType

from conjoin.pipeline.source.options import (
    address_for_tasks,
    check_store,
    read_options,
    read_schema,
    read_stream_options,
    read_write_options,
    with_schema,
)
from conjoin.pipeline.source.reader import ConjoinReader, PushingReader
from conjoin.pipeline.source.stream_reader import ConjoinStreamReader
from conjoin.pipeline.source.writer import ConjoinStreamWriter, ConjoinWriter


class ConjoinDataSource(DataSource):
    """`spark.read.format("conjoin").option("path" | "url", ...).option("table", ...).load()`

    `spark.readStream` reads on what is committed. `frame.write.format("conjoin").option("path" | "url",
    ...).option("source", ...)` publishes, and so does a stream.
    """

    @classmethod
    def name(cls) -> str:
        return "conjoin"

    def schema(self) -> StructType:
        """Spark does not say whether a table or a stream is asked for."""
        request = read_schema(self.options)
        check_store(request.address)
        return request.schema

    def reader(self, schema: StructType) -> ConjoinReader:
        """A schema that the user gave was not checked before."""
        request = with_schema(read_options(self.options), schema)
        return PushingReader(request) if request.pushes else ConjoinReader(request)

    def streamReader(self, schema: StructType) -> ConjoinStreamReader:  # noqa: N802 - Spark's name
        options = read_stream_options(self.options)
        return ConjoinStreamReader(options._replace(read=with_schema(options.read, schema)))

    def writer(self, schema: StructType, overwrite: bool) -> ConjoinWriter:
        return ConjoinWriter(read_write_options(self.options, schema, overwrite=overwrite))

    def streamWriter(self, schema: StructType, overwrite: bool) -> ConjoinStreamWriter:  # noqa: N802 - Spark's name
        return ConjoinStreamWriter(read_write_options(self.options, schema, overwrite=overwrite, is_stream=True))


def register(spark: SparkSession) -> None:
    """Once for a session. Spark pushes filters down to Python sources only with this setting."""
    spark.dataSource.register(ConjoinDataSource)
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


def store_table(spark: SparkSession, address: str, table: str, **options: str) -> DataFrame:
    """A table of the store at an address, for a session that knows the format."""
    store = {"url" if "://" in address else "path": address_for_tasks(address)}
    return spark.read.format("conjoin").options(**store, table=table, **options).load()

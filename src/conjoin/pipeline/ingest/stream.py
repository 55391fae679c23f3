"""Streams: batch after batch of new files or records. `once` ends when everything that is there has been taken.

Spark's checkpoint remembers what was seen, so that it is not read again; that nothing is taken twice or lost is the
store's doing, whatever becomes of the checkpoint.
"""

from collections.abc import Callable, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

from conjoin.pipeline.ingest.batch import Ingest
from conjoin.pipeline.ingest.files import file_arrivals, unreadable
from conjoin.pipeline.ingest.kafka import kafka_arrivals, kafka_reader
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of, spark_says

FILES_AT_ONCE = 1_000
_ANY_AGE = "36500d"
"""Otherwise a file that came in late, written a week before the newest one, would be passed over without a word."""
_LISTED = "path string, modificationTime timestamp, length bigint, content binary"
Take = Callable[[DataFrame], None]


def watch_files(
    spark: SparkSession, path: str, checkpoint: str, job: Ingest, *, once: bool, every_s: float = 1.0
) -> StreamingQuery:
    """New files of a folder or pattern, in the order in which they were last written."""
    listed = (
        spark.readStream.format("binaryFile")
        .schema(_LISTED)
        .option("recursiveFileLookup", True)
        .option("maxFilesPerTrigger", FILES_AT_ONCE)
        .option("maxFileAge", _ANY_AGE)
        .load(path_of(spark, path))
        .select("path")
    )

    def take(batch: DataFrame) -> None:
        take_files(spark, job, sorted(row["path"] for row in batch.collect()))

    return _start(listed, take, path_of(spark, checkpoint), once, every_s)


def take_files(spark: SparkSession, job: Ingest, files: Sequence[str]) -> None:
    """All at once; where one of them cannot be read to its end, one by one, and that one is a dead letter."""
    if not files:
        return
    try:
        job.take(file_arrivals(spark, files))
    except SPARK_ERRORS as error:
        if not _is_about_a_file(error):
            raise
        if len(files) == 1:
            job.take(unreadable(spark, files[0], spark_says(error)))
        for file in files if len(files) > 1 else ():
            take_files(spark, job, [file])


def _is_about_a_file(error: Exception) -> bool:
    """Nothing of a batch was committed then: rows are committed when all have been read."""
    return any(word in str(error) for word in ("FAILED_READ_FILE", "FileNotFoundException", "PATH_NOT_FOUND"))


def watch_kafka(
    spark: SparkSession, servers: str, topic: str, checkpoint: str, job: Ingest, *, once: bool, every_s: float = 1.0
) -> StreamingQuery:
    def take(batch: DataFrame) -> None:
        job.take(kafka_arrivals(batch))

    return _start(kafka_reader(spark, servers, topic).load(), take, path_of(spark, checkpoint), once, every_s)


def _start(frame: DataFrame, take: Take, checkpoint: str, once: bool, every_s: float) -> StreamingQuery:
    writer = frame.writeStream.foreachBatch(lambda batch, number: take(batch)).option("checkpointLocation", checkpoint)
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()

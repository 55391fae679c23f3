"""Streams: batch after batch of new files or records. `once` ends when everything that is there has been taken.

Spark's checkpoint remembers what was seen, so that it is not read again; that nothing is taken twice or lost is the
store's doing, whatever becomes of the checkpoint. A file (JSON lines, CSV or Parquet) is a part of the source. Its rows
are numbered from 1 as they stand in it, however Spark cuts files into tasks. One that cannot be read at all is a dead
letter, with the number 0.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import reduce
from itertools import accumulate, groupby

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import StreamingQuery

from conjoin.errors import InputError
from conjoin.pipeline.files.listing import format_of
from conjoin.pipeline.files.text_files import RAW, csv_rows, header_of
from conjoin.pipeline.ingest.alike_files import asked_once, first_line, parquet_look
from conjoin.pipeline.ingest.batch import Arrivals, Ingest
from conjoin.pipeline.ingest.frames import arrived_rows, as_json, kafka_arrivals
from conjoin.pipeline.ingest.tasks import ARRIVED, NOT_COUNTED, Begins
from conjoin.pipeline.session.arrow_rows import spark_schema
from conjoin.pipeline.session.master import check_classic
from conjoin.pipeline.session.session import SPARK_ERRORS, path_of, short_errors, spark_says
from conjoin.runtime.ingest.kafka_options import kafka_options

_LEAF_TASKS = "spark.sql.leafNodeDefaultParallelism"
_OF_A_PATTERN = re.compile(r"[\\\[\]{}*?]")


Sizes = Mapping[str, int]
"""In bytes, by file."""


def file_arrivals(spark: SparkSession, files: Sequence[str], sizes: Sizes | None = None) -> Arrivals:
    """The rows of some files; what their names end with says how they are read. `sizes` None: they are not known."""
    found: list[Arrivals] = []
    for format_, some in groupby(sorted(files, key=lambda file: (format_of(file) or "", file)), key=format_of):
        if format_ is None:
            found += [unreadable(spark, file, "its name does not end with .jsonl, .csv or .parquet") for file in some]
        else:
            found += _READERS[format_](spark, list(some), sizes)
    begins = {block: before for arrivals in found for block, before in arrivals.begins.items()}
    frames = [arrivals.rows for arrivals in found] or [spark.createDataFrame([], spark_schema(ARRIVED))]
    return Arrivals(reduce(DataFrame.union, frames), begins)


def _file() -> Column:
    """The file of a row: its part of the source."""
    return F.col("_metadata.file_path")


def _names(files: Sequence[str]) -> list[str]:
    """As Spark needs them: a name may contain characters of a pattern."""
    return [_OF_A_PATTERN.sub(r"\\\g<0>", file) for file in files]


def _json_lines(spark: SparkSession, files: list[str], sizes: Sizes | None) -> list[Arrivals]:
    block = F.col("_metadata.file_block_start")
    lines = arrived_rows(spark.read.text(_names(files)), _file(), F.lit(None), F.col("value"), block=block)
    are_whole = sizes is not None and all(sizes[file] <= _never_cut(spark, files, sizes) for file in files)
    return [Arrivals(lines, {} if are_whole else _begins(lines))]


def _never_cut(spark: SparkSession, files: Sequence[str], sizes: Sizes) -> int:
    """Spark cuts no file of at most so many bytes, when it reads these. By its own rule; if that should be another one
    day, the tasks notice blocks that nobody has counted."""
    most, opening = (_bytes_of(spark, f"spark.sql.files.{name}") for name in ("maxPartitionBytes", "openCostInBytes"))
    cores = spark.conf.get("spark.sql.files.minPartitionNum", None) or spark.conf.get(_LEAF_TASKS, None)
    tasks = int(cores or spark.sparkContext.defaultParallelism)
    return min(most, max(opening, sum(sizes[file] + opening for file in files) // tasks))


def _bytes_of(spark: SparkSession, setting: str) -> int:
    """Of a size that is not written in bytes nothing is known here."""
    written = (spark.conf.get(setting, None) or "").lower().removesuffix("b")
    return int(written) if written.isdecimal() else 0


def _begins(rows: DataFrame) -> Begins:
    """Spark cuts large files into blocks, where depends on how many there are; the numbers of rows must not."""
    counted = rows.groupBy("part", "block").count().orderBy("part", "block").collect()
    begins: Begins = {}
    for part, blocks in groupby(counted, key=lambda row: row["part"]):
        some = list(blocks)
        before = accumulate((row["count"] for row in some), initial=0)
        begins.update({(part, row["block"]): begin for row, begin in zip(some, before, strict=False)})
    return begins


def _csv(spark: SparkSession, files: list[str], _: Sizes | None) -> list[Arrivals]:
    """A value may go over several lines, so a file is one block."""
    found = []
    by_header: dict[tuple[str, ...], list[str]] = {}
    failures = (InputError, *SPARK_ERRORS)
    for file, header in asked_once(files, first_line, lambda it: header_of(spark, "csv", *_names([it])), failures):
        if isinstance(header, Exception):
            found.append(unreadable(spark, file, spark_says(header)))
        else:
            by_header.setdefault(header, []).append(file)
    by_header.pop((), None)
    for header, alike in by_header.items():
        value = F.when(F.col(RAW).isNull(), as_json(header)).otherwise(F.col(RAW))
        why = F.when(F.col(RAW).isNotNull(), F.lit(f"not {len(header)} values as in the header"))
        rows = csv_rows(spark, header, _names(alike))
        found.append(Arrivals(arrived_rows(rows, _file(), F.lit(None), value, problem=why)))
    return found


def _parquet(spark: SparkSession, files: list[str], _: Sizes | None) -> list[Arrivals]:
    """Files of one schema together; types may differ from file to file."""
    found = []
    schemas: dict[str, list[str]] = {}
    asked = asked_once(files, parquet_look, lambda it: spark.read.parquet(*_names([it])).schema.json(), SPARK_ERRORS)
    for file, schema in asked:
        if isinstance(schema, Exception):
            found.append(unreadable(spark, file, spark_says(schema)))
        else:
            schemas.setdefault(schema, []).append(file)
    for alike in schemas.values():
        rows = spark.read.parquet(*_names(alike))
        place = F.col("_metadata.row_index") + 1
        found.append(Arrivals(arrived_rows(rows, _file(), place, as_json(rows.columns))))
    return found


def unreadable(spark: SparkSession, file: str, why: str) -> Arrivals:
    """A file as one dead letter."""
    row = (file, 0, 0, None, None, f"the file cannot be read: {why}")
    return Arrivals(spark.createDataFrame([row], spark_schema(ARRIVED)))


_READERS = {"jsonl": _json_lines, "csv": _csv, "parquet": _parquet}


FILES_AT_ONCE = 1_000
_ANY_AGE = "36500d"
"""Otherwise a file that came in late, written a week before the newest one, would be passed over without a word."""
_LISTED = "path string, modificationTime timestamp, length bigint, content binary"
_ABOUT_A_FILE = ("FAILED_READ_FILE", "FileNotFoundException", "PATH_NOT_FOUND")
Take = Callable[[DataFrame], None]


def watch_files(
    spark: SparkSession, path: str, checkpoint: str, job: Ingest, *, once: bool, every_s: float = 1.0
) -> StreamingQuery:
    """New files of a folder or pattern, in the order in which they were last written."""
    check_classic(spark, "ingest")
    listed = (
        spark.readStream.format("binaryFile")
        .schema(_LISTED)
        .option("recursiveFileLookup", True)
        .option("maxFilesPerTrigger", FILES_AT_ONCE)
        .option("maxFileAge", _ANY_AGE)
        .load(path_of(spark, path))
        .select("path", "length")
    )

    def take(batch: DataFrame) -> None:
        sizes = {row["path"]: row["length"] for row in batch.collect()}
        take_files(spark, job, sorted(sizes), sizes)

    return _start(listed, take, *(path_of(spark, checkpoint), once, every_s))


def take_files(spark: SparkSession, job: Ingest, files: Sequence[str], sizes: Sizes | None = None) -> None:
    """All at once; where one of them cannot be read to its end, one by one, and that one is a dead letter."""
    if not files:
        return
    try:
        job.take(file_arrivals(spark, files, sizes))
    except SPARK_ERRORS as error:
        if sizes is not None and NOT_COUNTED in str(error):
            take_files(spark, job, files)
            return
        # Nothing of a batch was committed when a file cannot be read: rows are committed when all have been read.
        if not any(word in str(error) for word in _ABOUT_A_FILE):
            raise
        if len(files) == 1:
            job.take(unreadable(spark, files[0], spark_says(error)))
        for file in files if len(files) > 1 else ():
            take_files(spark, job, [file], sizes)


def watch_kafka(
    spark: SparkSession, options: Mapping[str, str], checkpoint: str, job: Ingest, *, once: bool, every_s: float = 1.0
) -> StreamingQuery:
    """Records of Kafka; `options` are those of Spark's connector, for which `kafka_options` has defaults."""
    check_classic(spark, "ingest")

    def take(batch: DataFrame) -> None:
        job.take(kafka_arrivals(batch))

    records = spark.readStream.format("kafka").options(**kafka_options(options)).load()
    return _start(records, take, path_of(spark, checkpoint), once, every_s)


def _start(frame: DataFrame, take: Take, checkpoint: str, once: bool, every_s: float) -> StreamingQuery:
    def take_shortly(batch: DataFrame, _: int) -> None:
        with short_errors():
            take(batch)

    writer = frame.writeStream.foreachBatch(take_shortly).option("checkpointLocation", checkpoint)
    if once:
        return writer.trigger(availableNow=True).start()
    return writer.trigger(processingTime=f"{every_s} seconds").start()

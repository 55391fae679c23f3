"""Delivery: after a batch is committed its results go to each sink, and it is noted which sink has which batch.

A batch is delivered before the next one begins; one that was not, because the process died, when the pipeline starts.
A sink that is new gets the last batch, and all that follow.
"""

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from pyarrow import fs
from pyspark.sql import functions as F

from conjoin.errors import InputError
from conjoin.pipeline.correlate.writing.parquet_sink import WrittenFile
from conjoin.pipeline.declared.file import STORE, DeclaredSink
from conjoin.pipeline.declared.option_secrets import name_of_url, says
from conjoin.pipeline.declared.sinks import NUMBER, SinkBatch, table_of, wanted_of, write_batch
from conjoin.pipeline.session.session import SPARK_ERRORS
from conjoin.pipeline.source import register
from conjoin.pipeline.streaming.batches import CorrelateBatches
from conjoin.shown_urls import shown_url

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from conjoin.pipeline.streaming.manifest import BatchManifest

_NOTED = "_delivered.json"


class SinkDelivery:
    """Of one stream. `out` is its folder of results as Spark reads it."""

    def __init__(
        self, spark: "SparkSession", batches: CorrelateBatches, sinks: Sequence[DeclaredSink], out: str
    ) -> None:
        self._spark = spark
        self._batches = batches
        self._sinks = dict(zip(_names(sinks), sinks, strict=True))
        self._out = out.rstrip("/")
        if any(sink.format == STORE for sink in sinks):
            # Before a query begins: it has a session of its own, which knows what this one knew then.
            register(spark)

    def catch_up(self) -> None:
        """The last batch goes to the sinks that do not have it."""
        last = self._batches.last
        if last is None or not self._sinks:
            return
        noted = self._noted()
        for name, sink in self._sinks.items():
            if noted.get(name, -1) >= last.sequence:
                continue
            self._deliver(last, name, sink)
            noted[name] = last.sequence
            self._note(noted)

    def _deliver(self, last: "BatchManifest", name: str, sink: DeclaredSink) -> None:
        files = last.files[table_of(sink.rows)]
        if not files:
            return
        try:
            rows = self._rows(last, table_of(sink.rows), files, is_numbered=sink.format == STORE)
            batch = SinkBatch(last.sequence, self._batches.state.identity, name)
            write_batch(wanted_of(rows, sink), sink, batch)
        except SPARK_ERRORS as error:
            told = f"batch {last.sequence} is committed and not delivered to the sink {name!r}"
            why = f"{says(error, sink.options)}; it is delivered when the pipeline starts again"
            raise InputError([f"{told}: {why}"]) from error

    def _rows(self, last: "BatchManifest", table: str, files: list[WrittenFile], *, is_numbered: bool) -> "DataFrame":
        rows = self._spark.read.parquet(*(f"{self._out}/{table}/{file.name}" for file in files))
        if not is_numbered:
            return rows
        # Every row of an output has one number, whoever counts it and however often.
        first = last.total_out[table] - sum(file.rows for file in files)
        begins: list[Column] = []
        for file in files:
            begins += [F.lit(file.name), F.lit(first)]
            first += file.rows
        begin = F.element_at(F.create_map(*begins), F.col("_metadata.file_name"))
        return rows.withColumn(NUMBER, (begin + F.col("_metadata.row_index")).cast("bigint"))

    def _noted(self) -> dict[str, int]:
        state = self._batches.state
        place = f"{state.path}/{_NOTED}"
        [info] = state.filesystem.get_file_info([place])
        if info.type == fs.FileType.NotFound:
            return {}
        with state.filesystem.open_input_stream(place) as stream:
            content = stream.read()
        try:
            return msgspec.json.decode(content, type=dict[str, int])
        except msgspec.DecodeError as error:
            raise InputError([f"{place} does not say which sink has which batch: {error}"]) from None

    def _note(self, noted: dict[str, int]) -> None:
        state = self._batches.state
        place = f"{state.path}/{_NOTED}"
        with state.filesystem.open_output_stream(f"{place}.new") as stream:
            stream.write(msgspec.json.encode(noted))
        state.filesystem.move(f"{place}.new", place)


def _names(sinks: Sequence[DeclaredSink]) -> list[str]:
    """What they are noted under: what they get and where it goes, and of two that are alike in that the number."""
    found: Counter[str] = Counter()
    names = []
    for sink in sinks:
        name = f"{sink.rows} {sink.format} {_where(sink)}"
        found[name] += 1
        names.append(name if found[name] == 1 else f"{name} {found[name]}")
    return names


def _where(sink: DeclaredSink) -> str:
    """Spark does not mind how the names of options are written."""
    options = {name.lower(): value for name, value in sink.options.items()}
    if sink.path:
        return shown_url(sink.path)
    url = options.get("url")
    table = sink.table or options.get("topic") or options.get("dbtable") or ""
    return table if url is None else f"{table} {name_of_url(url)}".strip()

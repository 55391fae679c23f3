"""Delivery: after a batch is committed its results go to each sink, and it is noted which sink has which batch.

A batch is delivered before the next one begins; one that was not, because the process died, when the pipeline starts.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
from pyarrow import fs

from conjoin.pipeline.declared.file import DeclaredSink
from conjoin.pipeline.declared.sinks import NOTICES, noticed, table_of, write_batch
from conjoin.pipeline.session.session import spark_errors
from conjoin.pipeline.streaming.batches import CorrelateBatches

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_NOTED = "_delivered.json"


class SinkDelivery:
    """Of one stream. `out` is its folder of results as Spark reads it."""

    def __init__(
        self, spark: "SparkSession", batches: CorrelateBatches, sinks: Sequence[DeclaredSink], out: str
    ) -> None:
        self._spark = spark
        self._batches = batches
        self._sinks = sinks
        self._out = out.rstrip("/")

    def catch_up(self) -> None:
        """The last batch goes to the sinks that do not have it."""
        last = self._batches.last
        if last is None or not self._sinks:
            return
        noted = self._noted()
        for sink in self._sinks:
            name = _name(sink)
            if noted.get(name, -1) >= last.sequence:
                continue
            files = [f"{self._out}/{table_of(sink.rows)}/{file.name}" for file in last.files[table_of(sink.rows)]]
            if files:
                rows = self._spark.read.parquet(*files)
                with spark_errors():
                    frame = noticed(rows) if sink.rows == NOTICES else rows
                    write_batch(frame, sink, last.sequence, f"conjoin {self._batches.state.path} {name}")
            noted[name] = last.sequence
            self._note(noted)

    def _noted(self) -> dict[str, int]:
        state = self._batches.state
        place = f"{state.path}/{_NOTED}"
        [info] = state.filesystem.get_file_info([place])
        if info.type == fs.FileType.NotFound:
            return {}
        with state.filesystem.open_input_stream(place) as stream:
            return msgspec.json.decode(stream.read(), type=dict[str, int])

    def _note(self, noted: dict[str, int]) -> None:
        state = self._batches.state
        place = f"{state.path}/{_NOTED}"
        with state.filesystem.open_output_stream(f"{place}.new") as stream:
            stream.write(msgspec.json.encode(noted))
        state.filesystem.move(f"{place}.new", place)


def _name(sink: DeclaredSink) -> str:
    where = sink.table or sink.path or sink.options.get("topic", "")
    return f"{sink.rows} {sink.format} {where}"

"""Written: the outputs of `correlate` as folders of files, in a shape that the next run reads back.

Text formats keep instants to the microsecond. CSV has no nested values: they are written as JSON text.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame, DataFrameWriter
from pyspark.sql import functions as F

from conjoin.pipeline.correlate.writing.parquet_sink import FILE_BYTES
from conjoin.pipeline.files.lakes import BY_NAME
from conjoin.pipeline.files.tables import TIME_PATTERN, as_text
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import path_of, spark_errors

_SPARK_FORMAT = {"parquet": "parquet", "jsonl": "json", "csv": "csv", "delta": "delta"}
_OPTIONS: dict[str, dict[str, str | bool]] = {
    "parquet": {},
    "delta": {"overwriteSchema": True},
    # With the nulls, so that a column that is null in all rows is still there when it is read again.
    "jsonl": {"timestampFormat": TIME_PATTERN, "ignoreNullFields": False},
    "csv": {
        "timestampFormat": TIME_PATTERN,
        "header": True,
        "escape": '"',
        "ignoreLeadingWhiteSpace": False,
        "ignoreTrailingWhiteSpace": False,
    },
}


TOGETHER = 3
"""So many tables are written at a time: each alone leaves a core idle while its job is planned and committed."""


@dataclass(frozen=True, slots=True)
class OutputPlace:
    """Where tables are written, and as what: a folder with one for each, or `table:NAME` for `NAME_verdicts`, ..."""

    address: str
    file_format: str = "parquet"
    overwrite: bool = False
    partition_by: tuple[str, ...] = ()
    file_bytes: int = FILE_BYTES
    """Of Parquet that the workers write: from here on a further file."""

    @property
    def by_name(self) -> bool:
        return self.address.startswith(BY_NAME)

    def of(self, table: str) -> str:
        if self.by_name:
            return f"{self.address.removeprefix(BY_NAME)}_{table}"
        return f"{self.address.rstrip('/')}/{table}"


def write_tables(tables: Mapping[str, DataFrame], place: OutputPlace, step: Step = lambda _: None) -> None:
    """A folder for each. The first one computes them all; the others are read from its cache, several at a time."""
    first, *others = tables
    step(f"correlating, and writing {_words(first)}")
    _write(tables[first], place, first)
    step(f"writing {', '.join(map(_words, others))}")
    with ThreadPoolExecutor(TOGETHER) as pool:
        for written in [pool.submit(_write, tables[name], place, name) for name in others]:
            written.result()


def _words(name: str) -> str:
    return name.replace("_", " ")


def _write(frame: DataFrame, place: OutputPlace, name: str) -> None:
    writer = _writer(frame, place.file_format, place.overwrite)
    if by := [column for column in place.partition_by if column in frame.columns]:
        writer = writer.partitionBy(*by)
    with spark_errors():
        if place.by_name:
            writer.saveAsTable(place.of(name))
        else:
            writer.save(path_of(frame.sparkSession, place.of(name)))


def write_table(frame: DataFrame, folder: str, file_format: str, overwrite: bool = False) -> None:
    """One folder of files; it must not exist yet unless it may be overwritten."""
    with spark_errors():
        _writer(frame, file_format, overwrite).save(path_of(frame.sparkSession, folder))


def _writer(frame: DataFrame, file_format: str, overwrite: bool) -> DataFrameWriter:
    shaped = _without_nesting(frame) if file_format == "csv" else frame
    writer = shaped.write.mode("overwrite" if overwrite else "errorifexists").options(**_OPTIONS[file_format])
    return writer.format(_SPARK_FORMAT[file_format])


def _without_nesting(frame: DataFrame) -> DataFrame:
    return frame.select(
        *(
            as_text(F.col(f"`{field.name}`"), field.dataType).alias(field.name)
            if field.dataType.simpleString().startswith(("array", "struct", "map", "variant"))
            else F.col(f"`{field.name}`")
            for field in frame.schema.fields
        )
    )

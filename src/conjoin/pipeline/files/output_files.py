"""Written: the outputs of `correlate` as folders of files, in a shape that the next run reads back.

Text formats keep instants to the microsecond. CSV has no nested values: they are written as JSON text.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conjoin.pipeline.files.tables import TIME_PATTERN, as_text
from conjoin.pipeline.session.progress import Step
from conjoin.pipeline.session.session import path_of, spark_errors

_SPARK_FORMAT = {"parquet": "parquet", "jsonl": "json", "csv": "csv"}
_OPTIONS: dict[str, dict[str, str | bool]] = {
    "parquet": {},
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
class OutputFolder:
    """Where tables are written, and as what."""

    folder: str
    file_format: str = "parquet"
    overwrite: bool = False


def write_tables(tables: Mapping[str, DataFrame], place: OutputFolder, step: Step = lambda _: None) -> None:
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


def _write(frame: DataFrame, place: OutputFolder, name: str) -> None:
    write_table(frame, f"{place.folder.rstrip('/')}/{name}", place.file_format, place.overwrite)


def write_table(frame: DataFrame, folder: str, file_format: str, overwrite: bool = False) -> None:
    """One folder of files; it must not exist yet unless it may be overwritten."""
    shaped = _without_nesting(frame) if file_format == "csv" else frame
    writer = shaped.write.mode("overwrite" if overwrite else "errorifexists").options(**_OPTIONS[file_format])
    with spark_errors():
        writer.format(_SPARK_FORMAT[file_format]).save(path_of(frame.sparkSession, folder))


def _without_nesting(frame: DataFrame) -> DataFrame:
    return frame.select(
        *(
            as_text(F.col(f"`{field.name}`"), field.dataType).alias(field.name)
            if field.dataType.simpleString().startswith(("array", "struct", "map", "variant"))
            else F.col(f"`{field.name}`")
            for field in frame.schema.fields
        )
    )

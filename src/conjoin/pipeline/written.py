"""Written: the outputs of `correlate` as folders of files, in a shape that the next run reads back.

Text formats keep instants to the microsecond. CSV has no nested values: they are written as JSON text.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conjoin.pipeline.files import TIME_PATTERN, as_text
from conjoin.pipeline.session import path_of, spark_errors

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

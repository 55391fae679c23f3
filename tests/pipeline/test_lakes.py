"""Delta and Iceberg folders are tables, not files: read through their connector, or refused by name; tables by name."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from conjoin.errors import InputError
from conjoin.pipeline.files.lakes import lake_of
from conjoin.pipeline.files.tables import read_table

pytestmark = pytest.mark.spark

ROWS = pa.table({"name": ["Paid"] * 3, "correlation_key": ["a", "b", "c"], "day": ["1", "1", "2"]})


def delta(folder: Path) -> Path:
    """With a row that was deleted: its file is still there."""
    write_deltalake(folder, ROWS, partition_by=["day"])
    DeltaTable(folder).delete("correlation_key = 'a'")
    return folder


def iceberg(folder: Path) -> Path:
    (folder / "metadata").mkdir(parents=True)
    (folder / "metadata" / "v1.metadata.json").write_text(json.dumps({"format-version": 2}))
    (folder / "data").mkdir()
    pq.write_table(ROWS, folder / "data" / "one.parquet")
    return folder


@pytest.mark.parametrize(("make", "words"), [(delta, "a Delta table"), (iceberg, "an Iceberg table")])
def test_lake_is_refused_by_name_where_there_is_no_connector(
    make: object, words: str, spark: SparkSession, tmp_path: Path
) -> None:
    folder = make(tmp_path / "messages")  # type: ignore[operator]
    with pytest.raises(InputError) as refused:
        read_table(spark, "messages", [str(folder)])
    [problem] = refused.value.problems
    assert problem.startswith(f"messages: {folder} is {words}, and this session cannot read it: start Spark with")


def test_what_lies_in_a_lake_is_not_read_past_its_log(spark: SparkSession, tmp_path: Path) -> None:
    folder = delta(tmp_path / "messages")
    file = next(folder.rglob("*.parquet"))
    for path in (file, file.parent, folder / "day=1" / "*.parquet"):
        with pytest.raises(InputError) as refused:
            read_table(spark, "messages", [str(path)])
        assert refused.value.problems == [f"messages: {path} lies in a Delta table: give its folder {folder}"]
    inside = next((iceberg(tmp_path / "other") / "data").iterdir())
    with pytest.raises(InputError, match="lies in an Iceberg table"):
        read_table(spark, "messages", [str(inside)])


def test_folders_of_files_are_what_they_were(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "readme.txt").write_text("not of Iceberg")
    (tmp_path / "day=1").mkdir()
    pq.write_table(ROWS, tmp_path / "day=1" / "one.parquet")
    assert lake_of(str(tmp_path)) is None
    assert lake_of(str(tmp_path / "day=1" / "*")) is None
    assert lake_of("dbfs://somewhere/else") is None
    assert read_table(spark, "messages", [str(tmp_path / "day=1")]).rows.count() == 3


def test_table_is_read_by_its_name(spark: SparkSession, tmp_path: Path) -> None:
    spark.createDataFrame([("Paid", "a")], "name string, correlation_key string").createOrReplaceTempView("published")
    try:
        [row] = read_table(spark, "messages", ["table:published"]).rows.collect()
        assert (row["name"], row["correlation_key"]) == ("Paid", "a")
        with pytest.raises(InputError, match=r"messages: there is no table 'nowhere\.at_all' to read"):
            read_table(spark, "messages", ["table:nowhere.at_all"])
    finally:
        spark.catalog.dropTempView("published")


def test_lake_is_read_by_its_connector(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the connector would: what its format answers is the table."""
    folder = delta(tmp_path / "messages")
    live = DeltaTable(folder).to_pyarrow_dataset().to_table().to_pandas()

    class Reader:
        def load(self, path: str) -> object:
            assert path == str(folder)
            return spark.createDataFrame(live)

    formats = []
    monkeypatch.setattr(
        "pyspark.sql.readwriter.DataFrameReader.format", lambda self, kind: formats.append(kind) or Reader()
    )
    found = {row["correlation_key"] for row in read_table(spark, "messages", [str(folder)]).rows.collect()}
    assert (formats, found) == (["delta"], {"b", "c"})

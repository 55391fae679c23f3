"""Exports that Spark writes, read again by Spark as plain Parquet."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from deltalake import DeltaTable

from conjoin.cli.main import run
from conjoin.errors import ExtraMissing, InputError, StoreMissing
from conjoin.pipeline.export import Exported, ExportRequest, export_tables, exporting
from conjoin.pipeline.export.target import DELTA
from conjoin.pipeline.export.writing import DAY_OF
from conjoin.pipeline.source.columns import INSTANT
from conjoin.pipeline.source.tables import TABLES
from tests.pipeline.export.lake import Lake, told
from tests.runtime.broker_bench import HOUR_MS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def export(spark: "SparkSession", lake: Lake, *tables: str) -> Exported:
    return export_tables(spark, ExportRequest(lake.address, lake.folder, tables))


def rows(spark: "SparkSession", lake: Lake, table: str) -> list[dict[str, Any]]:
    found = spark.read.parquet(str(lake.folder / table)).select(*TABLES[table].columns)
    return [row.asDict() for row in found.collect()]


def test_plain_parquet_has_every_event_once_and_every_other_table_as_it_is(
    spark: "SparkSession", tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lake = Lake(tmp_path)
    lake.orders("o-1", "o-2", "o-3")
    first = export(spark, lake, "events", "messages", "incidents")
    lake.bench.wait_ms(24 * HOUR_MS)
    lake.orders("o-1", "o-4")
    assert run(["export", "--out", str(lake.folder), "--tables", "events, messages", "--data", lake.address]) == 0
    for table in ("events", "messages", "incidents"):
        assert told(rows(spark, lake, table)) == told(lake.in_store(table)), table
        assert lake.manifest()["tables"][table]["rows"] == len(lake.in_store(table))
    said = capsys.readouterr().out
    events = len(lake.in_store("events"))
    assert re.search(rf"^events +{events - first.rows['events']} +{events}$", said, re.MULTILINE), said
    assert re.search(r"^messages +5 +5$", said, re.MULTILINE), said
    days = spark.read.parquet(str(lake.folder / "events")).select("day").distinct().collect()
    assert {str(row.day) for row in days} == {"2030-01-01", "2030-01-02"}


def test_delta_tables_have_every_event_once_and_every_other_table_as_it_is(
    spark: "SparkSession", tmp_path: Path
) -> None:
    lake = Lake(tmp_path, DELTA)
    lake.orders("o-1", "o-2", "o-3")
    order = ExportRequest(lake.address, lake.folder, ("events", "messages", "incidents"), DELTA)
    export_tables(spark, order)
    lake.bench.wait_ms(24 * HOUR_MS)
    lake.orders("o-1", "o-4")
    exported = export_tables(spark, order)
    assert lake.is_like_the_store("events", "messages", "incidents")
    assert exported.manifest["tables"]["messages"] == {"rows": 5, "version": 1}
    assert exported.manifest["tables"]["incidents"] == {"rows": 0, "version": 1}
    days = DeltaTable(lake.folder / "events").to_pyarrow_dataset().to_table(columns=["day"])["day"].unique()
    assert sorted(map(str, days)) == ["2030-01-01", "2030-01-02"]


def test_a_changing_table_without_rows_has_its_columns(spark: "SparkSession", tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    assert export(spark, lake, "messages").rows == {"messages": 0}
    assert spark.read.parquet(str(lake.folder / "messages")).columns == [*TABLES["messages"].columns, "day"]


def test_what_is_wrong_is_said_before_anything_is_written(
    spark: "SparkSession", tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(StoreMissing):
        export_tables(spark, ExportRequest(str(tmp_path / "nowhere"), tmp_path / "lake"))
    with pytest.raises(InputError, match="there is no table 'mesages', but messages, verdicts"):
        export_tables(spark, ExportRequest(str(tmp_path), tmp_path / "lake", ("mesages",)))
    with pytest.raises(InputError, match="no folder of this machine"):
        export_tables(spark, ExportRequest(str(tmp_path), Path("s3://bucket/lake")))
    with monkeypatch.context() as patch:
        patch.setattr(exporting, "find_spec", lambda name: None)
        with pytest.raises(ExtraMissing, match=r"deltalake: pip install 'conjoin\[delta\]'"):
            export_tables(spark, ExportRequest(str(tmp_path), tmp_path / "lake", format=DELTA))
    assert list(tmp_path.iterdir()) == []


def test_every_table_with_an_instant_lies_in_folders_of_days() -> None:
    with_instants = {
        name for name, table in TABLES.items() if any(column.kind is INSTANT for column in table.columns.values())
    }
    assert set(DAY_OF) == with_instants
    assert all(TABLES[name].columns[column].kind is INSTANT for name, column in DAY_OF.items())

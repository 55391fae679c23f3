"""A store in which things happen, the folder that it is exported to, and a writer that needs no Spark session."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from deltalake import DeltaTable

from conjoin.pipeline.export import Exported, ExportRequest
from conjoin.pipeline.export.exporting import carry_out
from conjoin.pipeline.export.ranges import CommitRange
from conjoin.pipeline.export.target import DELTA, PARQUET
from conjoin.pipeline.export.writing import DAY_OF
from conjoin.pipeline.source.reader import ConjoinReader
from conjoin.pipeline.source.tables import TABLES
from conjoin.store import create_store
from conjoin.store.port import Facts
from tests.pipeline.source.stories import StoreBench, asking, read
from tests.runtime.broker_bench import HOUR_MS

SHARDS = 3


class Lake:
    def __init__(self, folder: Path, format_: str = PARQUET) -> None:
        self.address, self.folder, self._format = str(folder / "store"), folder / "lake", format_
        folder.mkdir(exist_ok=True)
        self.bench = StoreBench(create_store(folder / "store", Facts(SHARDS, "zeebe", 0, False)))
        self.bench.deploy()

    def orders(self, *keys: str) -> None:
        for key in keys:
            self.bench.start(variables={"orderId": key})
            self.bench.publish("paid", key, HOUR_MS)

    def export(self, *tables: str) -> Exported:
        order = ExportRequest(self.address, self.folder, tables, self._format)
        return carry_out(order, ArrowWriter(self.address), lambda text: None)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """As any tool reads them, without what the folders add."""
        if self._format == DELTA:
            columns = list(TABLES[table].columns)
            found = DeltaTable(self.folder / table).to_pyarrow_dataset().to_table(columns=columns).to_pylist()
            return list(found)
        found = ds.dataset(self.folder / table, format="parquet", partitioning="hive", ignore_prefixes=["_"])
        return found.to_table(columns=list(TABLES[table].columns)).to_pylist()

    def in_store(self, table: str) -> list[dict[str, Any]]:
        return read(asking(self.address, table))

    def is_like_the_store(self, *tables: str) -> bool:
        return all(told(self.rows(table)) == told(self.in_store(table)) for table in tables)

    def manifest(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.folder / "_manifest.json").read_text(encoding="utf-8"))
        return found


class ArrowWriter:
    """In this process; its files are those that Spark would write."""

    def __init__(self, address: str) -> None:
        self._address = address

    def events(self, ranges: Sequence[CommitRange], folder: Path) -> int:
        return self._write("events", [{"where": it.where} for it in ranges], folder, ["shard", "day"])

    def table(self, name: str, folder: Path) -> int:
        return self._write(name, [{}], folder, ["day"] if name in DAY_OF else [])

    def _write(self, table: str, reads: Iterable[dict[str, str]], folder: Path, by: list[str]) -> int:
        readers = [ConjoinReader(asking(self._address, table, **options)) for options in reads]
        batches = [batch for it in readers for part in it.partitions() for batch in it.read(part)]
        folder.mkdir(parents=True)
        if not batches:
            pq.write_table(pa.table({name: [] for name in TABLES[table].columns}), folder / "none.parquet")
            return 0
        found = pa.Table.from_batches(batches)
        if table in DAY_OF:
            found = found.append_column("day", found[DAY_OF[table]].cast(pa.date32()).cast(pa.string()))
        pq.write_to_dataset(found, folder, partition_cols=by)
        return found.num_rows


def told(rows: list[dict[str, Any]]) -> Counter[str]:
    """In any order. Spark gives instants in the zone of the session, which is UTC, and does not say so."""
    plain = [{name: _plain(value) for name, value in row.items()} for row in rows]
    return Counter(json.dumps(row, sort_keys=True, default=str) for row in plain)


def _plain(value: Any) -> Any:
    return value.astimezone(UTC).replace(tzinfo=None) if isinstance(value, datetime) and value.tzinfo else value

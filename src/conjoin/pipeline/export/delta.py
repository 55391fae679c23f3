"""An export as Delta tables: files are moved to where they belong, and one commit of the table's log makes them count.

    messages/_delta_log/     a changing table: each run replaces all its rows, and the versions before stay for a week
    messages/day=.../        its files, and those of a run that died, which no version names
    events/shard=0/day=...   events: each run adds a version for each shard that has any

How far the log of a shard was exported is in the commit that added its events (`txn`, which Delta keeps for ever), so
there is no second record of it that could disagree. `deltalake` writes no data here, Spark has.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.transaction import AddAction, create_table_with_add_actions
from pyspark.sql import types as T

from conjoin.pipeline.export.target import EVENTS, MANIFEST, Committed, ExportTarget, settle, write_json
from conjoin.pipeline.export.writing import DAY, DAY_OF
from conjoin.pipeline.source.tables import TABLES

_APPLICATION = "conjoin/shard-{}"
_FINGERPRINT = "conjoin/shard-{}/fingerprint"
_DIGITS = 15
"""A transaction has a number, and so many hexadecimal digits fit into it."""
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"


class DeltaTarget(ExportTarget):
    def events(self) -> dict[int, Committed]:
        """By shard."""
        table = self._opened(EVENTS)
        if table is None:
            return {}
        shards = [int(path.name.partition("=")[2]) for path in (self.folder / EVENTS).glob("shard=*")]
        # A folder may be there without a commit, if a run died between the two.
        found = {shard: _committed(table, shard) for shard in shards}
        return {shard: committed for shard, committed in found.items() if committed is not None}

    def add_events(self, shard: int, versions: tuple[int, int], commit: Mapping[str, Any]) -> None:
        """The events of one shard in a range of commits."""
        fingerprint = int(commit["fingerprint"][:_DIGITS], 16)
        noted = {_APPLICATION.format(shard): versions[1], _FINGERPRINT.format(shard): fingerprint}
        self._commit(EVENTS, f"shard={shard}", "append", [Transaction(app, number) for app, number in noted.items()])

    def replace(self, table: str, commit: Mapping[str, Any]) -> None:
        self._commit(table, "", "overwrite", [])
        # What no version of the last week names can go, and so can what dead runs have left.
        DeltaTable(self.folder / table).vacuum(dry_run=False, full=True)

    def write_manifest(self, at: str) -> dict[str, Any]:
        """The tables with their rows and versions. Written last."""
        tables = {}
        for name in sorted(TABLES):
            if (table := self._opened(name)) is not None:
                rows = sum(pa.table(table.get_add_actions(flatten=True))["num_records"].to_pylist())
                tables[name] = {"rows": rows, "version": table.version()}
        manifest = {"exported_at": at, "tables": tables}
        write_json(self.part(MANIFEST), self.folder / MANIFEST, manifest)
        return manifest

    def _opened(self, table: str) -> DeltaTable | None:
        home = self.folder / table
        return DeltaTable(home) if DeltaTable.is_deltatable(str(home)) else None

    def _commit(self, name: str, within: str, mode: Any, noted: list[Transaction]) -> None:
        by = partitions_of(name)
        added = list(self._moved(name, within, by))
        schema, properties = _schema_of(name), CommitProperties(app_transactions=noted)
        table = self._opened(name)
        if table is None:
            home = str(self.folder / name)
            create_table_with_add_actions(home, schema, added, "error", by, commit_properties=properties)
        else:
            table.create_write_transaction(list(added), mode, schema, by, commit_properties=properties)

    def _moved(self, name: str, within: str, by: Sequence[str]) -> Iterator[AddAction]:
        """Files have names that no other has, so nothing is overwritten."""
        part, home = self.part(name), self.folder / name
        for file in sorted((part / within).rglob("*.parquet")):
            rows = pyarrow.parquet.read_metadata(file).num_rows
            if rows == 0:
                continue
            place = home / file.relative_to(part)
            place.parent.mkdir(parents=True, exist_ok=True)
            # On the disk before the log names it.
            settle([file])
            file.rename(place)
            settle([place.parent])
            yield _added(place, home, by, rows)


def partitions_of(table: str) -> list[str]:
    return (["shard"] if table == EVENTS else []) + ([DAY] if table in DAY_OF else [])


def _added(file: Path, home: Path, by: Sequence[str], rows: int) -> AddAction:
    path, facts = file.relative_to(home), file.stat()
    folders = dict(folder.partition("=")[::2] for folder in path.parts[:-1])
    values = {name: None if folders[name] == _NO_VALUE else folders[name] for name in by}
    stats = json.dumps({"numRecords": rows})
    return AddAction(str(path), facts.st_size, values, facts.st_mtime_ns // 1_000_000, True, stats)


def _schema_of(table: str) -> Schema:
    """Delta describes columns as Spark does."""
    columns = TABLES[table].schema(TABLES[table].columns)
    return Schema.from_json((columns.add(DAY, T.DateType()) if table in DAY_OF else columns).json())


def _committed(table: DeltaTable, shard: int) -> Committed | None:
    last = table.transaction_version(_APPLICATION.format(shard))
    fingerprint = table.transaction_version(_FINGERPRINT.format(shard))
    return None if last is None or fingerprint is None else Committed(last, f"{fingerprint:0{_DIGITS}x}")

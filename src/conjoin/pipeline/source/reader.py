"""The reader: planned once, then run in a task for each part of each shard.

A task opens the store, scans its part of the table as of one instant, and hands Arrow batches on while it reads: it
never holds more than one of them, however large the table is.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from conjoin.kernel.keys import COUNTER_BITS
from conjoin.pipeline.source.columns import Condition
from conjoin.pipeline.source.filters import answered, column_of, mask_of
from conjoin.pipeline.source.options import ReadOptions
from conjoin.pipeline.source.tables import SHARD, TABLES, SourceTable
from conjoin.runtime.broker import Broker
from conjoin.runtime.opening import open_broker

MOST_ROWS = 10_000
MOST_BYTES = 32 * 1024 * 1024
"""A batch of large values ends sooner."""
_LARGE = ("variables", "record", "body", "block", "raw")
"""Columns of the store that may be large."""

Rows = list[tuple[Any, ...]]
Expand = Callable[[tuple[Any, ...]], Iterable[tuple[Any, ...]]]


@dataclass
class ShardPart(InputPartition):
    """Rows of a shard: all, or those within a range of keys."""

    shard: int
    within: tuple[Condition, ...] = ()


class ConjoinReader(DataSourceReader):
    def __init__(self, request: ReadOptions) -> None:
        self._request = request
        self._ask(request.filters)

    def _ask(self, filters: Iterable[Filter]) -> list[Filter]:
        """Filters that all rows have to pass; the answer are those that the store cannot be asked for."""
        found = answered(TABLES[self._request.table], filters)
        self.where, self.shards, self._left = found.conditions, found.shards, found.left
        return found.left

    def partitions(self) -> list[ShardPart]:
        with closing(open_broker(self._request.address)) as broker:
            shards = range(broker.shard_count)
            chosen = [shard for shard in shards if self.shards is None or shard in self.shards]
            return [part for shard in chosen for part in self._parts(broker, shard)]

    def _parts(self, broker: Broker, shard: int) -> Iterator[ShardPart]:
        table, parts = TABLES[self._request.table], self._request.parts
        if parts == 1:
            yield ShardPart(shard)
            return
        first, last = _span(broker, shard, table)
        bounds = [first + (last - first) * number // parts for number in range(1, parts)]
        for low, high in zip([None, *bounds], [*bounds, None], strict=True):
            within = [(table.split, ">=", low)] if low is not None else []
            yield ShardPart(shard, (*within, *([(table.split, "<", high)] if high is not None else [])))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, ShardPart):
            # Where no shard is asked for, Spark runs a task all the same.
            return
        table = TABLES[self._request.table]
        names = self._stored_columns(table)
        with closing(open_broker(self._request.address)) as broker:
            rows = broker.store.shard(partition.shard).scan(table.stored, names, [*self.where, *partition.within])
            arrow = partial(self._arrow, broker, partition.shard, [*names, *table.expanded])
            # Unlike a loop with a name for its rows, this lets go of them before the next ones are read.
            yield from map(arrow, _batches(rows, names, _expanding(table, names)))

    def _columns(self) -> list[str]:
        """Those that are asked for, and those that have to be looked at here."""
        return list(dict.fromkeys((*self._request.columns, *map(column_of, self._left))))

    def _stored_columns(self, table: SourceTable) -> list[str]:
        """Of the store, those that the columns need, each once, and never none."""
        needed = [need for name in self._columns() for need in table.columns[name].needs]
        expansion = [] if table.expansion is None else [table.expansion.needs]
        stored = [need for need in (*needed, *expansion) if need not in table.expanded]
        return list(dict.fromkeys(stored)) or [table.split]

    def _arrow(self, broker: Broker, shard: int, names: Sequence[str], rows: Rows) -> pa.RecordBatch:
        stored = dict(zip(names, zip(*rows, strict=True), strict=True))
        arrays = {}
        for name in self._columns():
            column = TABLES[self._request.table].columns[name]
            if column is SHARD:
                arrays[name] = pa.repeat(pa.scalar(shard, SHARD.kind.arrow), len(rows))
            else:
                arrays[name] = column.array(broker, *(stored[need] for need in column.needs))
        batch = pa.RecordBatch.from_arrays([arrays[name] for name in self._request.columns], self._request.columns)
        return batch.filter(mask_of(self._left, arrays)) if self._left else batch


class PushingReader(ConjoinReader):
    """A reader that takes filters from Spark, too."""

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802 - Spark's name for it
        """Those that are left for Spark."""
        own = self._request.filters
        left = self._ask([*own, *filters])
        self._left = [it for it in left if any(it is mine for mine in own)]
        return [it for it in left if any(it is theirs for theirs in filters)]


def _span(broker: Broker, shard: int, table: SourceTable) -> tuple[int, int]:
    """Between which numbers the rows of a shard are to be expected; others belong to the first or last part."""
    with broker.post.look(shard) as snapshot:
        head = snapshot.head
    if table.split == "version":
        return 1, head.version
    first = (broker.homes.number_of(shard) + 1) << COUNTER_BITS
    return first, first + head.next_key


def _expanding(table: SourceTable, names: Sequence[str]) -> Expand:
    expansion = table.expansion
    if expansion is None:
        return lambda row: (row,)
    place = names.index(expansion.needs)
    return lambda row: ((*row, *more) for more in expansion.rows(row[place]))


def _batches(rows: Iterator[tuple[Any, ...]], names: Sequence[str], expand: Expand) -> Iterator[Rows]:
    large = [place for place, name in enumerate(names) if name in _LARGE]
    batch: Rows = []
    weight = 0
    for row in rows:
        weight += sum([len(row[place]) for place in large])
        for one in expand(row):
            batch.append(one)
            if len(batch) == MOST_ROWS:
                yield batch
                batch, weight = [], 0
        if weight >= MOST_BYTES and batch:
            yield batch
            batch, weight = [], 0
    if batch:
        yield batch

"""BatchRows: rows of every input as rows of the one shape, each with its bucket. For frames of a table and of a stream.

`correlate/events.py` says how a row is read and what is wrong with it; here is only what its rows are united to.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from conjoin.errors import InputError
from conjoin.kernel.policies import Policies
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import PRIOR, Types, problems_of, types_of
from conjoin.pipeline.correlate.local.frame import LocalFrame
from conjoin.pipeline.correlate.shape import PRIOR_SLOTS, SHAPE, Layout
from conjoin.pipeline.streaming.carriers import LocalCarrier, RowCarrier, SparkCarrier
from conjoin.pipeline.streaming.state_rows import BESIDE, DUE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class BatchRows:
    """Rows of the one shape; `layout` says where columns of `messages` are found in them, which have `types`."""

    carrier: RowCarrier
    layout: Layout
    types: Types

    @property
    def schema(self) -> pa.Schema:
        """Of the state: without faults, and with the instants at which rows fall due."""
        fields = [pa.field(field.name, field.type) for field in self.carrier.schema() if field.name != "fault"]
        return pa.schema([*fields, pa.field(DUE, pa.int64())])


@dataclass(frozen=True)
class ShapedRows:
    """The rows of one batch, or of a whole stream."""

    frame: "DataFrame"
    layout: Layout
    types: Types
    has_starts: bool

    def of(self, batch: "DataFrame") -> BatchRows:
        """Some of these rows."""
        carrier = LocalCarrier(batch) if isinstance(batch, LocalFrame) else SparkCarrier(batch, self.has_starts)
        return BatchRows(carrier, self.layout, self.types)


def batch_rows_of(tables: "Mapping[str, DataFrame]", policies: Policies, buckets: int) -> BatchRows:
    shaped = shaped_rows(tables, policies, buckets)
    return shaped.of(shaped.frame)


def shaped_rows(tables: "Mapping[str, DataFrame]", policies: Policies, buckets: int) -> ShapedRows:
    """`messages` and `subscriptions` have to be there; `ends` and `starts` may be."""
    types = {name: types_of(frame) for name, frame in tables.items()}
    problems = [problem for name, frame in tables.items() for problem in problems_of(name, frame.columns, types[name])]
    reserved = {contract.name for contract in PRIOR} | {"taken_by"}
    problems += [
        f"messages: column {name} is written by the stream; rename it"
        for name in types["messages"]
        if name.lower() in reserved
    ]
    if problems:
        raise InputError(problems)
    layout = events.layout_of(types["messages"], policies)
    rows = [
        events.message_rows(tables["messages"], types["messages"], layout, policies),
        events.subscription_rows(tables["subscriptions"], types["subscriptions"], policies, come_again=True),
    ]
    others = {"ends": events.end_rows, "starts": events.all_start_rows}
    rows += [make(tables[name], types[name]) for name, make in others.items() if name in tables]
    together = events.of_one_shape(rows, types["messages"], layout)
    filled = set(together.columns)
    more = [slot for slot in (*SHAPE, *PRIOR_SLOTS) if slot[0] not in filled]
    key, tie = f"pmod(xxhash64({events.KEY}), {buckets})", events.row_hash(types_of(together))
    expressions: dict[str, Any] = {name: f"cast(null as {kind})" for name, kind in more}
    expressions |= {name: f"cast({text} as {kind})" for (name, kind), text in zip(BESIDE, (tie, key), strict=True)}
    wide = together.selectExpr("*", *(f"{text} as {name}" for name, text in expressions.items()))
    prior = Layout(layout.columns, layout.slots, prior=True)
    return ShapedRows(wide, prior, types["messages"], "starts" in tables)

"""What comes out of a run: the eight tables of the fold and the near misses, each named once, here, with its columns.

The Arrow types that the fold writes and the schemas that Spark expects follow from them.
"""

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from conjoin.pipeline.correlate.columns import ColumnType, Types
from conjoin.pipeline.correlate.shape import Layout

if TYPE_CHECKING:
    from pyspark.sql import types as T

VERDICTS, PAIRS, BUFFERED, OPENED = "verdicts", "correlations", "buffered", "open"
LOCKED, REMEMBERED, LATER, DEAD = "locks", "ids", "later", "dead_letters"
NEAR = "near_misses"
CARRIED = "carried"
"""No output of a run: the messages still offered as rows of the one shape, for a fold that goes on from them."""
FOLDED = (VERDICTS, PAIRS, BUFFERED, OPENED, LOCKED, REMEMBERED, LATER, DEAD)
NAMES = (*FOLDED, NEAR)

Columns = dict[str, str]

SAID: Columns = {
    "verdict": "text",
    "reason": "text",
    "detail": "text",
    "decided_at": "instant",
    "offered": "truth",
    "nearest": "text",
}
"""What is known of every message. Not written: `offered`, whether it still waits for somebody, and `nearest`, the kind
of its nearest miss, by which it is counted."""

PAIR: Columns = {
    "kind": "text",
    "process_id": "text",
    "subscription_id": "text",
    "instance_id": "text",
    "element_id": "text",
    "correlated_at": "instant",
}
IDENTITY = {"position": "number", "message_id": "text", "tenant_id": "text", "name": "text", "correlation_key": "text"}
"""The columns of a message that stand beside each of its pairs."""

NEAR_MISS: Columns = {
    "differs": "text",
    "waiting_name": "text",
    "waiting_key": "text",
    "subscription_id": "text",
    "process_id": "text",
    "instance_id": "text",
    "element_id": "text",
}
"""Beside a message that nobody took and what was said of it: who waits with nearly its key."""

KEPT: dict[str, Columns] = {
    OPENED: {
        "process_id": "text",
        "name": "text",
        "correlation_key": "text",
        "opened_at": "instant",
        "closed_at": "instant",
        "subscription_id": "text",
        "instance_id": "text",
        "element_id": "text",
        "interrupting": "truth",
        "tenant_id": "text",
        "business_id": "text",
        "kept_at": "instant",
    },
    LOCKED: {
        "process_id": "text",
        "correlation_key": "text",
        "tenant_id": "text",
        "instance_id": "text",
        "locked_at": "instant",
    },
    REMEMBERED: {
        "name": "text",
        "correlation_key": "text",
        "tenant_id": "text",
        "message_id": "text",
        "published_at": "instant",
        "until_at": "instant",
    },
    DEAD: {"table": "text", "row": "text", "reason": "text", "detail": "text"},
    LATER: {"table": "text", "row": "text"},
}
"""The tables beside the messages."""

INSTANT = pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(pa.string())
ARROW = {"text": pa.string(), "instant": INSTANT, "truth": pa.bool_(), "number": pa.int64(), "texts": TEXTS}


def arrow_types(columns: Columns) -> dict[str, pa.DataType]:
    return {name: ARROW[kind] for name, kind in columns.items()}


def schema_of(table: str, messages: Types, layout: Layout) -> "T.StructType":
    """As Spark reads the rows of an output."""
    from pyspark.sql import types as T

    kinds: dict[str, T.DataType] = {
        "text": T.StringType(),
        "instant": T.TimestampType(),
        "truth": T.BooleanType(),
        "number": T.LongType(),
        "texts": T.ArrayType(T.StringType()),
    }
    fields: dict[str, Any] = fields_of(table, messages, layout)
    return T.StructType(
        [T.StructField(name, kinds[kind] if isinstance(kind, str) else kind) for name, kind in fields.items()]
    )


def fields_of(table: str, messages: Types, layout: Layout) -> dict[str, ColumnType | str]:
    """The columns of an output: of a kind that is named here, or of the type that they came with."""
    if table in KEPT:
        return dict(KEPT[table])
    said = {name: SAID[name] for name in ("verdict", "reason", "detail", "decided_at")}
    if table in (PAIRS, NEAR):
        identity = {name: messages.get(name, kind) for name, kind in IDENTITY.items()}
        return identity | (PAIR if table == PAIRS else said | NEAR_MISS)
    own: dict[str, ColumnType | str] = {name: messages[name] for name in layout.columns}
    if "taken_by" in own and messages["taken_by"].simpleString().startswith("array<"):
        own["taken_by"] = "texts"
    if table == BUFFERED:
        own.pop("taken_by", None)
    more = {"taken_by": "texts", "kept_at": "instant"} if table == BUFFERED else {}
    return own | said | {"correlated_to": "texts"} | more

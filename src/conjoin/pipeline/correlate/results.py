"""What comes out of the fold: eight tables, each named once, here, with its columns.

The Arrow types that the fold writes and the schemas that Spark expects follow from them.
"""

import pyarrow as pa
from pyspark.sql import types as T

from conjoin.pipeline.correlate.columns import Types
from conjoin.pipeline.correlate.shape import Layout

VERDICTS, PAIRS, BUFFERED, OPENED = "verdicts", "correlations", "buffered", "open"
LOCKED, REMEMBERED, LATER, DEAD = "locks", "ids", "later", "dead_letters"
NAMES = (VERDICTS, PAIRS, BUFFERED, OPENED, LOCKED, REMEMBERED, LATER, DEAD)

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
_ARROW = {"text": pa.string(), "instant": INSTANT, "truth": pa.bool_(), "number": pa.int64()}
_SPARK: dict[str, T.DataType] = {
    "text": T.StringType(),
    "instant": T.TimestampType(),
    "truth": T.BooleanType(),
    "number": T.LongType(),
}
_TEXTS = T.ArrayType(T.StringType())


def arrow_types(columns: Columns) -> dict[str, pa.DataType]:
    return {name: _ARROW[kind] for name, kind in columns.items()}


def schema_of(table: str, messages: Types, layout: Layout) -> T.StructType:
    """As Spark reads the rows of an output."""
    return T.StructType([T.StructField(name, kind) for name, kind in _fields(table, messages, layout).items()])


def _fields(table: str, messages: Types, layout: Layout) -> Types:
    if table in KEPT:
        return {name: _SPARK[kind] for name, kind in KEPT[table].items()}
    if table == PAIRS:
        identity = {name: messages.get(name, _SPARK[kind]) for name, kind in IDENTITY.items()}
        return identity | {name: _SPARK[kind] for name, kind in PAIR.items()}
    own = {
        name: _TEXTS if isinstance(messages[name], T.ArrayType) and name == "taken_by" else messages[name]
        for name in layout.columns
    }
    if table == BUFFERED:
        own.pop("taken_by", None)
    said = {name: _SPARK[SAID[name]] for name in ("verdict", "reason", "detail", "decided_at")}
    more = {"taken_by": _TEXTS, "kept_at": _SPARK["instant"]} if table == BUFFERED else {}
    return own | said | {"correlated_to": _TEXTS} | more

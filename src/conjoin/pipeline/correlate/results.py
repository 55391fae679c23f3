"""What comes out of the fold: seven tables, each named once, here, with its columns.

The Arrow types that the fold writes and the schemas that Spark expects follow from them. The columns of `messages`
go under numbers: Spark looks a column up by name and cannot when there is a dot or a backtick in it.
"""

import pyarrow as pa
from pyspark.sql import types as T

from conjoin.pipeline.correlate.columns import Types
from conjoin.pipeline.correlate.shape import PRIOR_SLOTS, Layout

MESSAGE, OFFERED, PAIRED, OPENED, LOCKED, REMEMBERED, DEAD, LATER, ENDS_IGNORED = range(9)

Columns = dict[str, str]

SAID: Columns = {"verdict": "text", "reason": "text", "detail": "text", "decided_at": "instant", "offered": "truth"}
"""What is said of every message. `offered`: it still waits for somebody."""

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

KEPT: dict[int, Columns] = {
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
    ENDS_IGNORED: {"count": "number"},
}
"""The tables beside the messages."""

_ARROW = {
    "text": pa.string(),
    "instant": pa.timestamp("us", tz="UTC"),
    "truth": pa.bool_(),
    "number": pa.int64(),
}
_SPARK: dict[str, T.DataType] = {
    "text": T.StringType(),
    "instant": T.TimestampType(),
    "truth": T.BooleanType(),
    "number": T.LongType(),
}
_TEXTS = T.ArrayType(T.StringType())


def own(number: int) -> str:
    """The name under which a column of `messages` travels."""
    return f"c{number}"


def arrow_types(columns: Columns) -> dict[str, pa.DataType]:
    return {name: _ARROW[kind] for name, kind in columns.items()}


def schema_of(table: int, messages: Types, layout: Layout) -> T.StructType:
    """As Spark reads the rows of a table."""
    if table in KEPT:
        return _struct({name: _SPARK[kind] for name, kind in KEPT[table].items()})
    if table == PAIRED:
        identity = {name: messages.get(name, _SPARK[kind]) for name, kind in IDENTITY.items()}
        return _struct(identity | {name: _SPARK[kind] for name, kind in PAIR.items()})
    fields: Types = {own(number): _carried(name, messages) for number, name in enumerate(layout.columns)}
    fields |= {name: _SPARK[kind] for name, kind in SAID.items() if name != "offered"} | {"correlated_to": _TEXTS}
    if layout.prior:
        fields |= {slot: _SPARK["instant" if kind == "timestamp" else "text"] for slot, kind in PRIOR_SLOTS}
    if table == OFFERED:
        fields |= {"taken_by": _TEXTS, "kept_at": _SPARK["instant"]}
    return _struct(fields)


def _struct(fields: Types) -> T.StructType:
    return T.StructType([T.StructField(name, kind) for name, kind in fields.items()])


def _carried(name: str, messages: Types) -> T.DataType:
    """`taken_by` goes through the fold as text; everything else as it is."""
    return T.StringType() if name == "taken_by" else messages[name]

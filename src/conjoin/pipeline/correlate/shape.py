"""The one shape of all rows that go through the fold: which column of which table stands in which slot.

It is read on both sides, by the plan that makes the rows and by the fold that takes them, and imports neither. Every
column costs each row on its way through Spark's shuffle and into Python, so a slot serves several tables, and flags are
bits of `kind`. `fault` is three lines: the reason, what it is about (a column, or a JSON object), the row as it was.
"""

from dataclasses import dataclass

LOCK, ID, END, OPEN, PUBLISH, START = range(1, 7)
"""Kinds of rows, in the order in which they count within one instant. A faulty row has its kind negated."""

KIND = 7
"""The bits of `kind` that are the kind itself; the others are flags, so that they take no columns of their own."""
NOT_INTERRUPTING, REPEATED, INTERRUPTING_GIVEN = 8, 16, 32

TABLE_OF = {LOCK: "locks", ID: "ids", END: "ends", OPEN: "subscriptions", PUBLISH: "messages", START: "starts"}

SHAPE: tuple[tuple[str, str], ...] = (
    ("kind", "tinyint"),
    ("at", "bigint"),
    ("until", "bigint"),
    ("key", "string"),
    ("name", "string"),
    ("tenant", "string"),
    ("business", "string"),
    ("id", "string"),
    ("process", "string"),
    ("instance", "string"),
    ("element", "string"),
    ("position", "bigint"),
    ("variables", "string"),
    ("taken_by", "string"),
    ("kept", "bigint"),
    ("fault", "string"),
)

PRIOR_SLOTS = [
    ("prior_verdict", "string"),
    ("prior_reason", "string"),
    ("prior_detail", "string"),
    ("prior_decided_at", "timestamp"),
    ("prior_correlated_to", "string"),
]
"""What a message of an earlier run brings along."""

SLOT_OF = {
    "name": "name",
    "correlation_key": "key",
    "published_at": "at",
    "message_id": "id",
    "ttl_ms": "until",
    "variables": "variables",
    "tenant_id": "tenant",
    "business_id": "business",
    "position": "position",
    "taken_by": "taken_by",
    "opened_at": "at",
    "closed_at": "until",
    "subscription_id": "id",
    "process_id": "process",
    "instance_id": "instance",
    "element_id": "element",
    "interrupting": "kind",
    "kept_at": "kept",
    "ended_at": "at",
    "locked_at": "until",
    "from_at": "at",
    "until_at": "until",
}


COLUMNS_OF = {
    "messages": (),
    "subscriptions": (
        "process_id",
        "name",
        "correlation_key",
        "opened_at",
        "closed_at",
        "subscription_id",
        "instance_id",
        "element_id",
        "interrupting",
        "tenant_id",
        "business_id",
    ),
    "ends": ("process_id", "correlation_key", "ended_at", "tenant_id"),
    "locks": ("process_id", "correlation_key", "instance_id", "locked_at", "tenant_id"),
    "ids": ("name", "correlation_key", "message_id", "until_at", "tenant_id"),
}
"""How a row of a table is written out again; those of `messages` are in its layout."""


@dataclass(frozen=True)
class Layout:
    """Where each column of `messages` is found again in a row: in a slot of the shape, or beside it."""

    columns: tuple[str, ...]
    slots: dict[str, str]
    prior: bool
    """The messages come from `.buffered` of a run before and bring their verdicts along."""


def columns_of(table: str, layout: Layout) -> dict[str, str]:
    """The slot of each column of a table."""
    return layout.slots if table == "messages" else {name: SLOT_OF[name] for name in COLUMNS_OF[table]}

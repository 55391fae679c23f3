"""The tables of the data source: which table of the store each one reads, and its columns in their order.

A row of the store is a row here, or several where the table expands it. Every table has the column `shard` beside its
own. `docs/data-source.md` lists them all.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T

from conjoin.pipeline.source import columns as c
from conjoin.pipeline.source import derived, logged
from conjoin.runtime.codec.json_text import json_text

SHARD = c.Column("shard", c.NUMBER, ())
"""The same in all rows of a partition."""


@dataclass(frozen=True, slots=True)
class Expansion:
    """A row of the store becomes as many rows as `rows` makes of one of its columns, each with what that gives."""

    needs: str
    gives: tuple[str, ...]
    rows: Callable[[Any], Iterable[tuple[Any, ...]]]


@dataclass(frozen=True, slots=True)
class SourceTable:
    """`split` is the column of the store by whose ranges a shard is read in parts; `where` holds for all its rows."""

    stored: str
    own: tuple[c.Column, ...]
    split: str = "key"
    where: tuple[c.Condition, ...] = ()
    expansion: Expansion | None = None

    @property
    def columns(self) -> dict[str, c.Column]:
        return {column.name: column for column in (SHARD, *self.own)}

    @property
    def expanded(self) -> tuple[str, ...]:
        return () if self.expansion is None else self.expansion.gives

    def schema(self, names: Iterable[str]) -> T.StructType:
        return T.StructType([T.StructField(name, self.columns[name].kind.spark) for name in names])


_MESSAGE = c.texts("name", "correlation_key", "tenant_id", "message_id", "business_id")
_VERDICT = (*c.texts("verdict", "reason"), c.instant("decided_at"))

TABLES: dict[str, SourceTable] = {
    "messages": SourceTable(
        "message",
        (
            c.key("key"),
            *_MESSAGE,
            c.instant("published_at"),
            c.instant("deadline_at", "deadline", c.NEVER),
            c.Column("state", c.TEXT, derived.STATE_NEEDS, derive=derived.states, meanings=derived.STATES),
            *_VERDICT,
            c.text("variables"),
        ),
    ),
    "verdicts": SourceTable(
        "message",
        (
            c.key("message_key", "key"),
            *_MESSAGE,
            c.instant("published_at"),
            *_VERDICT,
            c.Column("detail", c.TEXT, derived.DETAIL_NEEDS, derive=derived.details),
            c.of_each("correlated_to", c.KEYS, "record", derived.receivers),
        ),
    ),
    "correlations": SourceTable(
        "message",
        (
            c.key("message_key", "key"),
            *_MESSAGE,
            c.instant("published_at"),
            c.of_each("kind", c.TEXT, "target", derived.kind_of),
            c.of_each("process_id", c.TEXT, "target", lambda target: target.process_id),
            c.of_each("subscription_key", c.KEY, "target", derived.subscription_key_of),
            c.of_each("instance_key", c.KEY, "target", lambda target: target.instance_id),
            c.of_each("element_id", c.TEXT, "target", derived.element_of),
            c.of_each("reason", c.TEXT, "target", lambda target: target.reason),
            c.of_each("correlated_at", c.INSTANT, "target", lambda target: target.at),
        ),
        where=(("verdict", "in", derived.WITH_RECEIVERS),),
        expansion=Expansion("record", ("target",), derived.targets),
    ),
    "subscriptions": SourceTable(
        "subscription",
        (
            c.key("key"),
            *c.texts("name", "correlation_key", "tenant_id", "business_id", "process_id"),
            *(c.key("instance_key"), c.key("element_key"), c.text("element_id")),
            c.of_each("interrupting", c.TRUTH, "interrupting", bool),
            c.Column(
                *("state", c.TEXT, ("closed_at", "busy_with")),
                derive=derived.subscription_states,
                meanings=derived.SUBSCRIPTION_STATES,
            ),
            *(c.instant("opened_at"), c.instant("closed_at", absence=c.NULL)),
            c.key("message_key", "busy_with", c.NO_KEY),
        ),
    ),
    "instances": SourceTable(
        "instance",
        (
            c.key("key"),
            *(c.text("process_id"), c.number("version"), c.key("definition_key")),
            *c.texts("tenant_id", "business_id", "state", "started"),
            *(c.key("parent_key", absence=c.NO_KEY), c.key("root_key", "tree_key")),
            c.text("correlation_key", "lock_key", c.NULL),
            *(c.instant("started_at"), c.instant("ended_at", absence=c.NULL), c.number("incidents")),
            c.of_each("variables", c.TEXT, "body", derived.instance_variables),
        ),
    ),
    "incidents": SourceTable(
        "incident",
        (
            c.key("key"),
            c.Column("process_id", c.TEXT, ("instance_key",), derive=derived.of_instance("process_id")),
            c.Column("tenant_id", c.TEXT, ("instance_key",), derive=derived.of_instance("tenant_id")),
            *(c.key("instance_key"), c.key("element_key"), c.text("element_id")),
            *(c.key("job_key", absence=c.NO_KEY), c.text("error_type"), c.text("text")),
        ),
    ),
    "events": SourceTable(
        "log",
        (
            *(c.key("version"), c.number("number"), c.instant("at")),
            c.of_each("request", c.TEXT, "request", logged.name_of),
            c.of_each("kind", c.TEXT, "event", lambda event: event.kind),
            c.of_each("key", c.KEY, "event", logged.key_of),
            c.of_each("message_key", c.KEY, "event", logged.message_key_of),
            c.of_each("instance_key", c.KEY, "event", logged.instance_key_of),
            c.of_each("name", c.TEXT, "request", logged.message_name_of),
            c.of_each("correlation_key", c.TEXT, "request", logged.correlation_key_of),
            c.Column("tenant_id", c.TEXT, ("request", "event"), derive=logged.tenant_ids),
            c.of_each("body", c.TEXT, "event", lambda event: json_text(event.values)),
        ),
        split="version",
        expansion=Expansion("block", ("number", "request", "event"), logged.events_of),
    ),
    "dead_letters": SourceTable(
        "dead_letter",
        (
            *(c.key("key"), *c.texts("source", "part"), c.key("position"), *c.texts("reason", "text"), c.instant("at")),
            c.of_each("row", c.TEXT, "raw", lambda raw: raw.decode("utf-8", "replace")),
        ),
    ),
}

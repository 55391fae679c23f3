"""The tables of the data source: which table of the store each one reads, and its columns in their order.

A row of the store is a row here, or several where the table expands it. Every table has the column `shard` beside its
own. `docs/data-source.md` lists them all.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pyspark.sql import types as T

from conjoin.pipeline.source import derived, logged, messages
from conjoin.pipeline.source.columns import (
    INSTANT,
    KEY,
    KEYS,
    NEVER,
    NO_KEY,
    NULL,
    NUMBER,
    TEXT,
    TRUTH,
    Column,
    Condition,
    instant,
    key,
    number,
    of_each,
    text,
    texts,
)

SHARD = Column("shard", NUMBER, ())
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
    own: tuple[Column, ...]
    split: str = "key"
    where: tuple[Condition, ...] = ()
    expansion: Expansion | None = None

    @property
    def columns(self) -> dict[str, Column]:
        return {column.name: column for column in (SHARD, *self.own)}

    @property
    def expanded(self) -> tuple[str, ...]:
        return () if self.expansion is None else self.expansion.gives

    def schema(self, names: Iterable[str]) -> T.StructType:
        return T.StructType([T.StructField(name, self.columns[name].kind.spark) for name in names])


_MESSAGE = texts("name", "correlation_key", "tenant_id", "message_id", "business_id")
_VERDICT = (*texts("verdict", "reason"), instant("decided_at"))

TABLES: dict[str, SourceTable] = {
    "messages": SourceTable(
        "message",
        (
            key("key"),
            *_MESSAGE,
            instant("published_at"),
            instant("deadline_at", "deadline", NEVER),
            Column("state", TEXT, messages.STATE_NEEDS, derive=messages.states, meanings=messages.STATES),
            *_VERDICT,
            text("variables"),
        ),
    ),
    "verdicts": SourceTable(
        "message",
        (
            key("message_key", "key"),
            *_MESSAGE,
            instant("published_at"),
            *_VERDICT,
            Column("detail", TEXT, messages.DETAIL_NEEDS, derive=messages.details),
            of_each("correlated_to", KEYS, "record", messages.receivers),
        ),
    ),
    "correlations": SourceTable(
        "message",
        (
            key("message_key", "key"),
            *_MESSAGE,
            instant("published_at"),
            of_each("kind", TEXT, "target", messages.kind_of),
            of_each("process_id", TEXT, "target", lambda target: target.process_id),
            of_each("subscription_key", KEY, "target", messages.subscription_key_of),
            of_each("instance_key", KEY, "target", lambda target: target.instance_id),
            of_each("element_id", TEXT, "target", messages.element_of),
            of_each("reason", TEXT, "target", lambda target: target.reason),
            of_each("correlated_at", INSTANT, "target", lambda target: target.at),
        ),
        where=(("verdict", "in", messages.WITH_RECEIVERS),),
        expansion=Expansion("record", ("target",), messages.targets),
    ),
    "subscriptions": SourceTable(
        "subscription",
        (
            key("key"),
            *texts("name", "correlation_key", "tenant_id", "business_id", "process_id"),
            *(key("instance_key"), key("element_key"), text("element_id")),
            of_each("interrupting", TRUTH, "interrupting", bool),
            Column(
                *("state", TEXT, ("closed_at", "busy_with")),
                derive=derived.subscription_states,
                meanings=derived.SUBSCRIPTION_STATES,
            ),
            *(instant("opened_at"), instant("closed_at", absence=NULL)),
            key("message_key", "busy_with", NO_KEY),
        ),
    ),
    "instances": SourceTable(
        "instance",
        (
            key("key"),
            *(text("process_id"), number("version"), key("definition_key")),
            *texts("tenant_id", "business_id", "state", "started"),
            *(key("parent_key", absence=NO_KEY), key("root_key", "tree_key")),
            text("correlation_key", "lock_key", NULL),
            *(instant("started_at"), instant("ended_at", absence=NULL), number("incidents")),
            of_each("variables", TEXT, "body", derived.instance_variables),
        ),
    ),
    "incidents": SourceTable(
        "incident",
        (
            key("key"),
            Column("process_id", TEXT, ("instance_key",), derive=derived.of_instance("process_id")),
            Column("tenant_id", TEXT, ("instance_key",), derive=derived.of_instance("tenant_id")),
            *(key("instance_key"), key("element_key"), text("element_id")),
            *(key("job_key", absence=NO_KEY), text("error_type"), text("text")),
        ),
    ),
    "events": SourceTable(
        "log",
        (
            *(key("version"), number("number"), instant("at")),
            of_each("request", TEXT, "request", logged.name_of),
            of_each("kind", TEXT, "event", lambda event: event.kind),
            of_each("key", KEY, "event", logged.key_of),
            of_each("message_key", KEY, "event", logged.message_key_of),
            of_each("instance_key", KEY, "event", logged.instance_key_of),
            of_each("name", TEXT, "request", logged.message_name_of),
            of_each("correlation_key", TEXT, "request", logged.correlation_key_of),
            Column("tenant_id", TEXT, ("request", "event"), derive=logged.tenant_ids),
            of_each("body", TEXT, "event", logged.body_of),
        ),
        split="version",
        expansion=Expansion("block", ("number", "request", "event"), logged.events_of),
    ),
    "dead_letters": SourceTable(
        "dead_letter",
        (
            *(key("key"), *texts("source", "part"), key("position"), *texts("reason", "text"), instant("at")),
            of_each("row", TEXT, "raw", lambda raw: raw.decode("utf-8", "replace")),
        ),
    ),
}

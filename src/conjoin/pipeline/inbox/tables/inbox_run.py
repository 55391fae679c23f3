"""A run of the inbox as a plain DataFrame function: the inbox as a table, what has arrived, and who waits, in; the
inbox as it is then, out.

    inbox = correlate_inbox(arrivals, subscriptions, inbox, settings=settings)

It is lazy, and comes to the same rows whenever and however often it is computed, for its instant is fixed when it is
called. Chained run by run it does what the schedule of a store does: retries, back-off, grace, expiration.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import groupby
from time import time_ns
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from conjoin.errors import InputError
from conjoin.kernel.catalog import Catalog
from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.channels import Channel
from conjoin.kernel.policies import Policies, read_policies
from conjoin.pipeline.correlate.columns import TABLES, problems_of, quoted, read_column, types_of
from conjoin.pipeline.inbox.tables.columns import INSTANTS, SCHEMA, TableRow
from conjoin.pipeline.inbox.tables.group_run import GroupRows, TableRun, run_group
from conjoin.pipeline.inbox.tables.reading import ARRIVED, KEPT, WAITS, ArrivalReader, waiting_rows
from conjoin.pipeline.inbox.tables.waiting import AwaitingSubscription
from conjoin.pipeline.ingest.arrivals import Into
from conjoin.pipeline.ingest.frames import HASH_DIGITS, NOWHERE, as_json
from conjoin.pipeline.session.arrow_rows import in_batches, spark_schema
from conjoin.pipeline.session.worker import in_worker
from conjoin.runtime.codec.json_text import read_json

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

INBOX_PROFILE = "correlate"
"""Under whose policies messages of an inbox are offered, whatever the profile is."""
_WAITING = (
    *("process_id", "name", "correlation_key", "opened_at", "closed_at", "subscription_id"),
    *("instance_id", "element_id", "interrupting", "tenant_id", "business_id"),
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ARRIVALS = ("part", "place", "value")
_KINDED = SCHEMA.insert(0, pa.field("kind", pa.int8()))
_NO_MESSAGE = TableRow(0, "", "", "", "", "", "", 0, 0, 0)


def correlate_inbox(
    arrivals: "DataFrame | None",
    subscriptions: "DataFrame",
    inbox: "DataFrame | None" = None,
    *,
    settings: InboxSettings | None = None,
    channel: Channel | None = None,
    profile: str = "zeebe",
    policies: Mapping[str, Mapping[str, object]] | None = None,
    position: str | None = None,
    at: datetime | int | None = None,
) -> "DataFrame":
    """`arrivals` has the fields of a message, or what the mapping of `channel` reads; rows that came before are passed
    over. `subscriptions` is what `correlate` takes. `inbox` is what the last run gave; none: there was none.
    """
    now, frames = micros(at), []
    settings, channel = settings or InboxSettings(), channel or Channel("messages")
    own, offers = read_both_policies(profile, policies or {})
    problems = _problems(arrivals, subscriptions, inbox, channel, position)
    if problems:
        raise InputError(problems)
    if inbox is not None:
        frames.append(_kept(inbox))
    if arrivals is not None:
        frames.append(_arrived(arrivals, Into(channel, settings, own), position, now))
    frames.append(_waiting(subscriptions))
    together = frames[0]
    for frame in frames[1:]:
        together = together.unionByName(frame)
    return _as_table(_carried_out(together, settings, offers, now))


def micros(at: datetime | int | None) -> int:
    """None is now; a number is microseconds already; a time without a zone is UTC."""
    if at is None:
        return time_ns() // 1_000
    if isinstance(at, int):
        return at
    return ((at if at.tzinfo else at.replace(tzinfo=UTC)) - _EPOCH) // timedelta(microseconds=1)


def read_both_policies(profile: str, changes: Mapping[str, Mapping[str, object]]) -> tuple[Policies, Policies]:
    """Those by which messages are accepted, and those of the inbox, by which they are offered."""
    own, problems = read_policies(profile, changes)
    if problems:
        raise InputError(problems)
    return own, read_policies(INBOX_PROFILE, changes)[0]


def _problems(
    arrivals: "DataFrame | None",
    subscriptions: "DataFrame",
    inbox: "DataFrame | None",
    channel: Channel,
    position: str | None,
) -> list[str]:
    found = problems_of("subscriptions", subscriptions.columns, types_of(subscriptions))
    if channel.target:
        found.append(f"the channel {channel.name!r} is for {channel.target!r}: remote targets need a store")
    if not channel.enabled:
        found.append(f"the channel {channel.name!r} is not enabled")
    if position is not None and arrivals is not None and position not in arrivals.columns:
        found.append(f"position: there is no column {position!r}; there are {', '.join(arrivals.columns)}")
    missing = [] if inbox is None else [name for name in SCHEMA.names if name not in inbox.columns]
    if missing:
        found.append(f"inbox: it is none that a run has left: it has no column {', '.join(missing[:5])}")
    return found


def _kept(inbox: "DataFrame") -> "DataFrame":
    instants = {name: f"unix_micros(`{name}`) as `{name}`" for name in INSTANTS}
    return inbox.selectExpr(f"cast({KEPT} as tinyint) as kind", *(instants.get(it, f"`{it}`") for it in SCHEMA.names))


def _as_table(rows: "DataFrame") -> "DataFrame":
    instants = {name: f"timestamp_micros(`{name}`) as `{name}`" for name in INSTANTS}
    return rows.selectExpr(*(instants.get(it, f"`{it}`") for it in SCHEMA.names))


def _arrived(arrivals: "DataFrame", into: Into, position: str | None, now: int) -> "DataFrame":
    """A row without a position is known by what it says."""
    from pyspark.sql import functions as F

    place = F.lit(None) if position is None else F.col(quoted(position))
    told = arrivals.select(place.cast("bigint").alias("place"), as_json(arrivals.columns).cast("binary").alias("value"))
    by_itself = F.concat(F.lit(NOWHERE), F.substring(F.sha2("value", 256), 1, HASH_DIGITS))
    part = F.when(F.col("place") >= 0, F.lit(into.channel.name)).otherwise(by_itself)
    rows = told.select(part.alias("part"), F.greatest(F.col("place"), F.lit(0)).alias("place"), "value")

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = ArrivalReader(into, now)
        for batch in batches:
            columns = (batch.column(name).to_pylist() for name in _ARRIVALS)
            found = (reader.read(*row) for row in zip(*columns, strict=True))
            yield from in_batches(((ARRIVED, *row) for row in found if row is not None), _KINDED)

    return rows.mapInArrow(in_worker(read), spark_schema(_KINDED))


def _waiting(subscriptions: "DataFrame") -> "DataFrame":
    types = types_of(subscriptions)
    contracts = {contract.name: contract for contract in TABLES["subscriptions"]}
    rows = subscriptions.selectExpr(*(f"{read_column(contracts[name], types).value} as {name}" for name in _WAITING))

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            found = waiting_rows([batch.column(name).to_pylist() for name in _WAITING])
            rows = ((WAITS, *_NO_MESSAGE._replace(group_key=group, about=row)) for group, row in found)
            yield from in_batches(rows, _KINDED)

    return rows.mapInArrow(in_worker(read), spark_schema(_KINDED))


def _carried_out(rows: "DataFrame", settings: InboxSettings, policies: Policies, now: int) -> "DataFrame":
    """A task has whole groups, one after the other."""

    def carry_out(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        run = TableRun(settings, Catalog(policies=policies), now)
        return in_batches(_rows_after(batches, run), SCHEMA)

    groups = rows.repartition("group_key").sortWithinPartitions("group_key", "kind")
    return groups.mapInArrow(in_worker(carry_out), spark_schema(SCHEMA))


def _rows_after(batches: Iterable[pa.RecordBatch], run: TableRun) -> Iterator[TableRow]:
    each = (row for batch in batches for row in zip(*(it.to_pylist() for it in batch.columns), strict=True))
    place = _KINDED.names.index("group_key")
    for _, some in groupby(each, key=lambda row: row[place]):
        yield from run_group(_group_of(some), run)


def _group_of(rows: Iterable[tuple[Any, ...]]) -> GroupRows:
    group = GroupRows()
    for kind, *values in rows:
        row = TableRow(*values)
        if kind == WAITS:
            group.waiting.append(AwaitingSubscription(*read_json(row.about)))
        else:
            (group.kept if kind == KEPT else group.arrived).append(row)
    return group

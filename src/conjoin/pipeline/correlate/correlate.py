"""correlate: tables of messages and of who waits in, tables of verdicts out. Lazily, without a store.

Everything is one plan: rows of all tables, shuffled by correlation key, sorted, folded by the kernel. The plan uses
nothing but DataFrames, so it runs on a classic session and on Spark Connect alike.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from conjoin.errors import InputError, PolicyError
from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.policies import Policies, Policy, read_policies
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import PRIOR, TABLES, Types, has_prior, problems_of, read_column, types_of
from conjoin.pipeline.correlate.correlated import Correlated
from conjoin.pipeline.correlate.fold.fold import PartitionFold
from conjoin.pipeline.correlate.fold.outputs import Outputs
from conjoin.pipeline.correlate.fold.packed_batches import PACKED
from conjoin.pipeline.correlate.results import LATER, LOCKED
from conjoin.pipeline.correlate.shape import Layout
from conjoin.pipeline.session.worker import make_ready

Folding = Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]
Instant = datetime | str | int | None


def correlate(
    messages: DataFrame,
    subscriptions: DataFrame,
    starts: DataFrame | None = None,
    ends: DataFrame | None = None,
    locks: DataFrame | None = None,
    ids: DataFrame | None = None,
    policies: Policies | Mapping[str, Mapping[str, object]] | None = None,
    as_of: Instant = None,
    since: Instant = None,
    profile: str = "zeebe",
    partitions: int | None = None,
) -> Correlated:
    """Say for every message what became of it, by the rules of Zeebe.

    `as_of` is the instant at which a message still waiting is called buffered or expired (default: the latest time
    in the inputs). To go on from an earlier run add its `.buffered` to `messages` and its `.open` to
    `subscriptions`, hand over its `.locks` and `.ids`, and let `since` be its `as_of`.
    """
    tables = {
        "messages": messages,
        "subscriptions": subscriptions,
        "starts": starts,
        "ends": ends,
        "locks": locks,
        "ids": ids,
    }
    given = {name: frame for name, frame in tables.items() if frame is not None}
    book = _policies_of(policies, profile)
    since_us, as_of_us = read_instant(since, "since"), read_instant(as_of, "as_of")
    types = {name: types_of(frame) for name, frame in given.items()}
    _check(given, types)
    layout = events.layout_of(types["messages"], book)
    rows = [
        events.message_rows(messages, types["messages"], layout, book),
        events.subscription_rows(subscriptions, types["subscriptions"], book),
    ]
    rows += [events.start_rows(starts, types["starts"])] if starts is not None else []
    rows += [events.end_rows(ends, types["ends"])] if ends is not None else []
    rows += [events.lock_rows(locks, types["locks"])] if locks is not None else []
    rows += [events.id_rows(ids, types["ids"])] if ids is not None else []
    ordered = events.in_order(rows, types["messages"], layout, partitions)
    controlled = ordered.withColumn("control", _control(given, types, as_of_us))
    folded = controlled.mapInArrow(_folding(layout, book, since_us), PACKED)
    return Correlated(folded, layout, types["messages"], _barren(given, as_of_us))


def _barren(given: dict[str, DataFrame], as_of: int | None) -> frozenset[int]:
    """Nothing is later than the latest time, and only a start or an earlier run leaves locks."""
    found = {LATER} if as_of is None else set()
    return frozenset(found if given.keys() & {"starts", "locks"} else found | {LOCKED})


def _folding(layout: Layout, policies: Policies, since: int | None) -> Folding:
    def fold(batches: Iterable[pa.RecordBatch]) -> Iterable[pa.RecordBatch]:
        make_ready()
        return PartitionFold(policies, since, Outputs(layout)).take(batches)

    return fold


def _policies_of(policies: Policies | Mapping[str, Mapping[str, object]] | None, profile: str) -> Policies:
    if isinstance(policies, Policies):
        return _guarded(policies)
    book, problems = read_policies(profile, policies or {})
    if problems:
        raise PolicyError(problems)
    return _guarded(book)


def _guarded(book: Policies) -> Policies:
    by_name = {name: _guarded_policy(policy) for name, policy in book.by_name.items()}
    return Policies(_guarded_policy(book.default), by_name)


def _guarded_policy(policy: Policy) -> Policy:
    return replace(policy, constraint=Guarded(policy.constraint)) if policy.constraint else policy


@dataclass(frozen=True, slots=True)
class Guarded:
    """A constraint that fails says no: one message that it cannot judge must not fail the whole job."""

    constraint: Callable[[Any, Any], bool]

    def __call__(self, message: Message, subscription: Subscription) -> bool:
        try:
            return bool(self.constraint(message, subscription))
        except Exception:  # noqa: BLE001 - somebody else's code: it may raise anything
            return False


def _check(given: dict[str, DataFrame], types: dict[str, Types]) -> None:
    problems = [problem for name, frame in given.items() for problem in problems_of(name, frame, types[name])]
    if not has_prior(types["messages"]):
        reserved = {contract.name for contract in PRIOR}
        ours = [name for name in types["messages"] if name.lower() in reserved]
        problems += [f"messages: column {name} would be overwritten; rename it" for name in ours]
    if problems:
        raise InputError(problems)
    others = events.other_columns(types["messages"])
    if others:
        warnings.warn(f"columns of messages that travel along into .verdicts: {', '.join(others)}", stacklevel=3)


def read_instant(value: Instant, name: str) -> int | None:
    """Microseconds since 1970 of a datetime (without a zone: UTC), an ISO text, or that number itself."""
    if value is None or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InputError([f"{name}: {value!r} is not a time such as 2026-01-31T08:00:00Z"]) from None
    if not isinstance(value, datetime):
        raise InputError([f"{name}: {value!r} is not a time"])
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since_epoch.days * 86_400 + since_epoch.seconds) * 1_000_000 + since_epoch.microseconds


def _control(given: dict[str, DataFrame], types: dict[str, Types], as_of: int | None) -> Column:
    """What each partition must know, as JSON on its first row: `as_of` and the start subscriptions."""
    fields = [(F.lit(as_of).cast("bigint") if as_of is not None else _latest(given, types)).alias("as_of")]
    if "starts" in given:
        fields.append(_all_starts(given["starts"]).alias("starts"))
    first_of_partition = F.monotonically_increasing_id().bitwiseAND(F.lit((1 << 33) - 1)) == 0
    return F.when(first_of_partition, F.to_json(F.struct(*fields)))


def _latest(given: dict[str, DataFrame], types: dict[str, Types]) -> Column:
    """The latest time in the inputs, as a subquery: nothing runs until a result is asked for."""
    instants = {"messages": ["published_at"], "subscriptions": ["opened_at", "closed_at"], "ends": ["ended_at"]}
    latest = None
    for table, columns in instants.items():
        if table in given:
            times = _greatest_of(given[table], types[table], table, columns)
            latest = times if latest is None else latest.union(times)
    assert latest is not None, "messages are always given"
    return F.coalesce(latest.agg(F.max("at")).scalar(), F.lit(0).cast("bigint"))


def _greatest_of(frame: DataFrame, types: Types, table: str, columns: list[str]) -> DataFrame:
    contracts = [contract for contract in TABLES[table] if contract.name in columns]
    times = [f"max({read_column(contract, types).value})" for contract in contracts]
    latest = f"greatest({', '.join(times)})" if len(times) > 1 else times[0]
    return frame.agg(F.expr(f"{latest} as at"))


def _all_starts(starts: DataFrame) -> Column:
    row = F.struct("process", "name", "tenant", "element", "at", "until")
    return F.coalesce(events.usable_starts(starts).agg(F.collect_list(row)).scalar(), F.array())

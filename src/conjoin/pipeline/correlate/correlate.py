"""correlate: tables of messages and of who waits in, tables of verdicts out. Lazily, without a store.

Everything is one plan: rows of all tables, shuffled by correlation key, sorted, folded by the kernel. The plan uses
nothing but DataFrames, so it runs on a classic session and on Spark Connect alike.
"""

import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from conjoin.errors import InputError, PolicyError
from conjoin.kernel.correlation import Message, Subscription
from conjoin.kernel.policies import Policies, Policy, read_policies
from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import PRIOR, Types, has_prior, problems_of, quoted, types_of
from conjoin.pipeline.correlate.correlated import Correlated, CorrelateInputs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Instant = datetime | str | int | None


def correlate(
    messages: "DataFrame",
    subscriptions: "DataFrame",
    starts: "DataFrame | None" = None,
    ends: "DataFrame | None" = None,
    locks: "DataFrame | None" = None,
    ids: "DataFrame | None" = None,
    policies: Policies | Mapping[str, Mapping[str, object]] | None = None,
    as_of: Instant = None,
    since: Instant = None,
    profile: str = "zeebe",
    partitions: int | None = None,
    unique_positions: bool = False,
    unreadable: "dict[str, DataFrame] | None" = None,
    near: bool = True,
    carry: Collection[str] | None = None,
) -> Correlated:
    """Say for every message what became of it, by the rules of Zeebe.

    `as_of` is the instant at which a message still waiting is called buffered or expired (default: the latest time
    in the inputs). To go on from an earlier run add its `.buffered` to `messages` and its `.open` to
    `subscriptions`, hand over its `.locks` and `.ids`, and let `since` be its `as_of`. `unique_positions` declares that
    no position occurs twice, so that nobody looks. `unreadable` are rows that a reader could not take for one of a
    table: dead letters from the start. `near` False leaves out the look for near misses on other keys.
    `carry` names the further columns of `messages` that travel into `.verdicts` (default: all of them).
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
    if carry is not None:
        given["messages"] = _carried(messages, frozenset(carry))
    options: dict[str, Any] = {"as_of": as_of, "since": since, "partitions": partitions}
    options |= {"unique_positions": unique_positions, "unreadable": unreadable or {}, "near": near}
    return Correlated(inputs_of(given, policies_of(policies, profile), carry is None, **options))


def inputs_of(
    given: "dict[str, DataFrame]", policies: Policies, warns: bool, as_of: Instant, since: Instant, **more: Any
) -> CorrelateInputs:
    """The tables, after they have been checked. `warns` of columns that nobody has asked for."""
    since_us, as_of_us = read_instant(since, "since"), read_instant(as_of, "as_of")
    types = {name: types_of(frame) for name, frame in given.items()}
    _check(given, types)
    if warns and (others := events.other_columns(types["messages"])):
        warnings.warn(f"columns of messages that travel along into .verdicts: {', '.join(others)}", stacklevel=3)
    layout = events.layout_of(types["messages"], policies)
    return CorrelateInputs(given, types, layout, policies, as_of_us, since_us, **more)


def policies_of(policies: Policies | Mapping[str, Mapping[str, object]] | None, profile: str) -> Policies:
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

    @property
    def name(self) -> str:
        return getattr(self.constraint, "__qualname__", type(self.constraint).__qualname__)

    def __call__(self, message: Message, subscription: Subscription) -> bool:
        try:
            return bool(self.constraint(message, subscription))
        except Exception:  # noqa: BLE001 - somebody else's code: it may raise anything
            return False


def _check(given: "dict[str, DataFrame]", types: dict[str, Types]) -> None:
    problems = [problem for name, frame in given.items() for problem in problems_of(name, frame.columns, types[name])]
    if not has_prior(types["messages"]):
        reserved = {contract.name for contract in PRIOR}
        ours = [name for name in types["messages"] if name.lower() in reserved]
        problems += [f"messages: column {name} would be overwritten; rename it" for name in ours]
    if problems:
        raise InputError(problems)


def _carried(messages: "DataFrame", carry: frozenset[str]) -> "DataFrame":
    """Without the columns that nobody has asked for: each costs every row on its way."""
    missing = sorted(carry.difference(messages.columns))
    if missing:
        raise InputError(
            [f"carry: messages has no column {name}; it has {', '.join(messages.columns)}" for name in missing]
        )
    others = set(events.other_columns(dict.fromkeys(messages.columns))) - carry  # type: ignore[arg-type]
    return messages.select(*(quoted(name) for name in messages.columns if name not in others)) if others else messages


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

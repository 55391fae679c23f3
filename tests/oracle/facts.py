"""What the oracle knows of a history before anything happens: policies, rows as records, single rules.

Each function answers one question from its arguments alone. `FOREVER` stands for "no deadline".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

from .history import History, Row

FOREVER = 2**63 - 1
MS_US = 1_000
UNIT_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}

Policy = dict[str, Any]
Event = tuple[int, int, Any, Callable[[], None]]
LockKey = tuple[str, str, str]
Pair = tuple[int, str, str, str | None, str | None, int]

PROFILES: dict[str, Policy] = {
    "zeebe": {
        "cardinality": "once_per_process",
        "on_no_match": "buffer",
        "duplicate_subscription": "allow",
        "dedup": "while_buffered",
        "start_uniqueness": "per_key",
        "start_precedence": "both",
        "time_to_live": 0,
        "expected": "off",
    },
    "zeebe-0.2x": {
        "cardinality": "once_per_instance",
        "on_no_match": "buffer",
        "duplicate_subscription": "allow",
        "dedup": "while_buffered",
        "start_uniqueness": "per_key",
        "start_precedence": "both",
        "time_to_live": 0,
        "expected": "off",
    },
    "correlate": {
        "cardinality": "exactly_one",
        "on_no_match": "retry",
        "duplicate_subscription": "allow",
        "dedup": "7d",
        "start_uniqueness": "none",
        "start_precedence": "subscription_first",
        "time_to_live": "none",
        "expected": "off",
    },
    "fleans": {
        "cardinality": "exactly_one",
        "on_no_match": "reject",
        "duplicate_subscription": "reject",
        "dedup": "off",
        "start_uniqueness": "none",
        "start_precedence": "subscription_first",
        "time_to_live": 0,
        "expected": "off",
    },
}


@dataclass
class Outcome:
    """What the product must give for the history; plain values that can be sorted and compared."""

    verdicts: dict[int, tuple[str, str]] = field(default_factory=dict)
    decided_at: dict[int, int] = field(default_factory=dict)
    pairs: set[Pair] = field(default_factory=set)
    buffered: dict[int, list[str]] = field(default_factory=dict)
    open: set[str] = field(default_factory=set)
    locks: dict[LockKey, int] = field(default_factory=dict)
    ids: set[tuple[str, str, str, str, int]] = field(default_factory=set)
    ends_ignored: int = 0
    refused_subscriptions: set[str] = field(default_factory=set)
    later: set[tuple[str, int | str]] = field(default_factory=set)


@dataclass(frozen=True)
class Taker:
    """One receiver of a message: a subscription, or a start (then without instance and subscription)."""

    kind: str
    process_id: str
    instance_id: str | None
    subscription_id: str | None
    element_id: str | None
    at: int
    reason: str


@dataclass(eq=False)
class Message:
    """A published message, its policy, and what became of it so far."""

    row: Row
    tenant: str
    name: str
    key: str
    position: int
    published_at: int
    deadline: int
    policy: Policy
    takers: list[Taker] = field(default_factory=list)
    refused: str | None = None
    expired: str | None = None

    def kept(self) -> bool:
        """Stored until its deadline; a time to live of 0 or less is over at once (A5)."""
        return self.policy["on_no_match"] in ("buffer", "retry") and self.deadline > self.published_at

    def stored(self, now: int) -> bool:
        """Still offered: at exactly the deadline it is not (F1)."""
        return self.refused is None and self.kept() and now < self.deadline

    def taken_by_process(self, process_id: str) -> bool:
        return any(taker.process_id == process_id for taker in self.takers)


@dataclass(eq=False)
class Subscription:
    """A subscription row with its defaults filled in."""

    row: Row
    tenant: str
    name: str
    key: str
    process_id: str
    instance_id: str
    subscription_id: str
    opened_at: int
    interrupting: bool

    def matches(self, message: Message) -> bool:
        """Same tenant, name and key (C10, P1), and the business id fits (Q1, Q2)."""
        same = (self.tenant, self.name, self.key) == (message.tenant, message.name, message.key)
        wanted = message.row.get("business_id")
        return same and (wanted is None or wanted == self.row.get("business_id"))


def policy_of(history: History, name: str) -> Policy:
    """The profile, overridden by `*`, overridden by the message's own name."""
    return PROFILES[history.profile] | history.policies.get("*", {}) | history.policies.get(name, {})


def duration_ms(value: Any) -> int | None:
    """`"5ms"`, `"7d"` or a number of milliseconds; None and `"none"` have no end."""
    if value is None or value == "none":
        return None
    if isinstance(value, int) or value.lstrip("-").isdigit():
        return int(value)
    number = value.rstrip("dhms")
    return int(number) * UNIT_MS[value[len(number) :]]


def after(time: int, wait_ms: int | None) -> int:
    """The instant `wait_ms` after `time`; it saturates."""
    return FOREVER if wait_ms is None else min(time + wait_ms * MS_US, FOREVER)


def instant_of_judgement(history: History) -> int:
    """`as_of`, or the latest time in the inputs; start rows do not count."""
    if history.as_of is not None:
        return history.as_of
    times = [row["published_at"] for row in history.messages]
    times += [row["opened_at"] for row in history.subscriptions]
    times += [row["closed_at"] for row in history.subscriptions if row.get("closed_at") is not None]
    times += [row["ended_at"] for row in history.ends]
    return max(times, default=0)


def tenant_of(row: Row) -> str:
    tenant = row.get("tenant_id")
    return "<default>" if tenant is None else str(tenant)


def key_of(row: Row) -> str:
    key = row.get("correlation_key")
    return "" if key is None else str(key)


def valid(start: Row, now: int) -> bool:
    """A start row holds from `from_at` on, and no longer at `until_at`; None is always."""
    begins, ends = start.get("from_at"), start.get("until_at")
    return (begins is None or begins <= now) and (ends is None or now < ends)


def version(start: Row) -> tuple[bool, int, str]:
    """The order of start rows of one process: the latest `from_at`, then the highest element."""
    begins = start.get("from_at")
    return (begins is not None, begins or 0, start.get("element_id") or "")


def visiting_order(start: Row) -> tuple[bool, int, str]:
    """Older definitions first (E10)."""
    begins = start.get("from_at")
    return (begins is not None, begins or 0, start["process_id"])


def share(cardinality: str, subscription: Subscription) -> Hashable:
    """Subscriptions with the same share count as one receiver of a message (D7, U3)."""
    s = subscription
    shares: dict[str, Hashable] = {
        "once_per_process": s.process_id,
        "once_per_instance": (s.process_id, s.instance_id),
        "all": s.subscription_id,
        "exactly_one": s.subscription_id,
    }
    return shares[cardinality]


def marked(message: Message, subscription: Subscription) -> bool:
    """Whether its share of the message is taken: by process, instance, subscription or anybody."""
    s = subscription
    taken_by: dict[str, Callable[[Taker], bool]] = {
        "once_per_process": lambda t: t.process_id == s.process_id,
        "once_per_instance": lambda t: (t.process_id, t.instance_id) == (s.process_id, s.instance_id),
        "all": lambda t: t.subscription_id == s.subscription_id,
        "exactly_one": lambda t: True,
    }
    return any(map(taken_by[message.policy["cardinality"]], message.takers))


def id_until(message: Message) -> int:
    """The instant at which its id is free again; never after publication if it holds none."""
    dedup = message.policy["dedup"]
    if not message.row.get("message_id") or message.refused is not None or dedup == "off":
        return message.published_at
    if dedup == "while_buffered":
        return message.deadline if message.kept() else message.published_at
    return after(message.published_at, duration_ms(dedup))

"""Histories: the input tables of one bulk correlation, small and random, for oracle and product alike.

Rows are plain dicts with the columns of `bulk.md`; times are int microseconds since the epoch; None is
missing. The generator works on a tight grid: many things happen at one instant or exactly at a deadline.
Invariant: a seed always gives the same history, and a key prefix changes nothing but the keys.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

Row = dict[str, Any]

MS_US = 1_000
BASE_US = 1_700_000_000_000_000
TICKS = 12
TABLES = ("messages", "subscriptions", "starts", "ends")


@dataclass
class History:
    """Everything `play` needs: four tables, the policies, and the instant of judgement."""

    messages: list[Row] = field(default_factory=list)
    subscriptions: list[Row] = field(default_factory=list)
    starts: list[Row] = field(default_factory=list)
    ends: list[Row] = field(default_factory=list)
    policies: dict[str, dict[str, Any]] = field(default_factory=dict)
    profile: str = "zeebe"
    as_of: int | None = None
    seed: int = 0


@dataclass
class Pools:
    """What one history draws its values from; small, so that rows meet."""

    keys: list[str | None]
    names: list[str]
    processes: list[str]
    tenants: list[str | None]
    business_ids: list[str | None]
    message_ids: list[str | None]


def generate(seed: int, key_prefix: str = "") -> History:
    """A small random history; with a key prefix, no key is empty."""
    rng = random.Random(seed)
    pools = _pools(rng, key_prefix)
    starts = _starts(rng, pools)
    profile = rng.choices(["zeebe", "zeebe-0.2x", "correlate", "fleans"], [7, 1, 1, 1])[0]
    return History(
        messages=_messages(rng, pools),
        subscriptions=_subscriptions(rng, pools),
        starts=starts,
        ends=_ends(rng, pools, starts),
        policies=_policies(rng, pools, profile),
        profile=profile,
        as_of=_as_of(rng),
        seed=seed,
    )


def _pools(rng: random.Random, key_prefix: str) -> Pools:
    keys: list[str | None] = [key_prefix + f"k{n}" for n in range(1, rng.randint(1, 2) + 1)]
    if rng.random() < 0.3:
        keys += [key_prefix + "k0"] * 2 if key_prefix else ["", None]
    return Pools(
        keys=keys,
        names=[f"name{n}" for n in range(1, rng.randint(2, 3) + 1)],
        processes=[f"p{n}" for n in range(1, rng.randint(2, 3) + 1)],
        tenants=rng.choice([[None], [None, "<default>"], [None, None, "<default>", "t2"]]),
        business_ids=rng.choice([[None], [None, None, "b1", "b2"]]),
        message_ids=rng.choice([[None], [None, "", "a", "b"], ["a", "b"]]),
    )


def _at(rng: random.Random, low: int = 0, high: int = TICKS) -> int:
    """An instant of the grid; now and then one microsecond beside it."""
    beside = rng.choices([0, 1, -1], [30, 1, 1])[0]
    return BASE_US + rng.randint(low, high) * MS_US + beside


def _ttl_ms(rng: random.Random) -> int | None:
    return rng.choice([None, 0, -1, 1, 1, 2, 2, 3, 4, 6, 6, 100, 3_600_000, 2**63 - 1])


def _messages(rng: random.Random, pools: Pools) -> list[Row]:
    positions = rng.sample(range(1, 100), rng.randint(4, 22))
    return [_message(rng, pools, position) for position in positions]


def _message(rng: random.Random, pools: Pools, position: int) -> Row:
    return {
        "name": rng.choice(pools.names),
        "correlation_key": rng.choice(pools.keys),
        "published_at": _at(rng),
        "message_id": rng.choice(pools.message_ids),
        "ttl_ms": _ttl_ms(rng),
        "variables": f'{{"n": {position}}}',
        "tenant_id": rng.choice(pools.tenants),
        "business_id": rng.choice(pools.business_ids),
        "position": position,
    }


def _subscriptions(rng: random.Random, pools: Pools) -> list[Row]:
    numbers = rng.sample(range(1, 100), rng.randint(2, 14))
    return [_subscription(rng, pools, f"s{number:02}") for number in numbers]


def _subscription(rng: random.Random, pools: Pools, subscription_id: str) -> Row:
    opened_at = _at(rng)
    return {
        "process_id": rng.choice(pools.processes),
        "name": rng.choice(pools.names),
        "correlation_key": rng.choice(pools.keys),
        "opened_at": opened_at,
        "closed_at": _closed_at(rng, opened_at),
        "subscription_id": subscription_id,
        "instance_id": f"i{rng.randint(1, 3)}",
        "element_id": f"e{rng.randint(1, 3)}",
        "interrupting": rng.choice([True, True, None, False]),
        "tenant_id": rng.choice(pools.tenants),
        "business_id": rng.choice(pools.business_ids),
    }


def _closed_at(rng: random.Random, opened_at: int) -> int | None:
    """Mostly open; else closed a little later, seldom at the opening or before it."""
    if rng.random() < 0.5:
        return None
    return opened_at + rng.choice([-2, 0, 1, 1, 2, 3, 4, 6]) * MS_US


def _starts(rng: random.Random, pools: Pools) -> list[Row]:
    rows: list[Row] = []
    for _ in range(rng.choice([0, 1, 1, 2, 3])):
        rows += _versions(rng, pools)
    rng.shuffle(rows)
    return rows


def _versions(rng: random.Random, pools: Pools) -> list[Row]:
    """One start event, and sometimes a second version: following, overlapping, with another element."""
    first: Row = {
        "process_id": rng.choice(pools.processes),
        "name": rng.choice(pools.names),
        "tenant_id": rng.choice(pools.tenants),
        "element_id": rng.choice(["start1", "start1", None]),
        "from_at": rng.choice([None, None, _at(rng, 0, 6)]),
        "until_at": rng.choice([None, None, _at(rng, 4, TICKS)]),
    }
    if rng.random() < 0.6:
        return [first]
    later = first["until_at"] or rng.choice([None, _at(rng)])
    second = first | {
        "element_id": "start2",
        "from_at": rng.choice([later, first["from_at"]]),
        "until_at": None,
    }
    return [first, second]


def _ends(rng: random.Random, pools: Pools, starts: list[Row]) -> list[Row]:
    return [_end(rng, pools, starts) for _ in range(rng.choice([0, 1, 3, 5, 7]))]


def _end(rng: random.Random, pools: Pools, starts: list[Row]) -> Row:
    """Mostly of a process that messages can start, as any other end is ignored."""
    anyone = {"process_id": rng.choice(pools.processes), "tenant_id": rng.choice(pools.tenants)}
    ended = rng.choice(starts) if starts and rng.random() < 0.8 else anyone
    return {
        "process_id": ended["process_id"],
        "correlation_key": rng.choice(pools.keys),
        "ended_at": _at(rng),
        "tenant_id": ended["tenant_id"],
    }


def _as_of(rng: random.Random) -> int | None:
    """The latest time (None), somewhere in the middle, or after everything."""
    return rng.choice([None, None, _at(rng, 3, 10), BASE_US + rng.choice([TICKS, 30]) * MS_US])


POLICY_CHOICES: dict[str, list[Any]] = {
    "cardinality": ["once_per_process", "once_per_instance", "all", "exactly_one"],
    "on_no_match": ["buffer", "retry", "reject", "discard"],
    "duplicate_subscription": ["allow", "reject"],
    "dedup": ["while_buffered", "off", "1ms", "5ms", "7d"],
    "on_duplicate": ["refuse", "acknowledge"],
    "start_uniqueness": ["per_key", "none"],
    "start_precedence": ["both", "subscription_first", "start_only"],
    "time_to_live": ["none", "2ms", "5ms", "1h"],
    "expected": [1, 2, 3],
}


def _policies(rng: random.Random, pools: Pools, profile: str) -> dict[str, dict[str, Any]]:
    """Overrides for some names or all; `correlate` matches by key here, as tables have no other way."""
    policies: dict[str, dict[str, Any]] = {}
    for name in ["*", *pools.names]:
        if rng.random() < 0.3:
            policies[name] = _overrides(rng)
    if profile == "correlate":
        policies["*"] = policies.get("*", {}) | {"match": "key"}
    return _without_nonsense(policies, profile)


def _overrides(rng: random.Random) -> dict[str, Any]:
    chosen = rng.sample(sorted(POLICY_CHOICES), rng.randint(1, 3))
    return {policy: rng.choice(POLICY_CHOICES[policy]) for policy in chosen}


def _without_nonsense(policies: dict[str, dict[str, Any]], profile: str) -> dict[str, dict[str, Any]]:
    """Mixes that are refused when they are set: two receivers of `exactly_one`; to acknowledge what nobody
    remembers."""
    one = profile != "zeebe" or any(row.get("cardinality") == "exactly_one" for row in policies.values())
    forgets = profile == "fleans" or any(row.get("dedup") == "off" for row in policies.values())
    changed = {}
    for name, row in policies.items():
        row = row | {"expected": 1} if one and "expected" in row else row
        changed[name] = row | {"on_duplicate": "refuse"} if forgets else row
    if forgets and profile == "correlate":
        changed["*"] = changed.get("*", {}) | {"on_duplicate": "refuse"}
    return changed


def minimal(history: History, fails: Callable[[History], bool]) -> History:
    """Drop rows, one at a time, as long as the history still fails; the policies and `as_of` stay."""
    smaller = _drop_one(history, fails)
    while smaller is not None:
        history, smaller = smaller, _drop_one(smaller, fails)
    return history


def _drop_one(history: History, fails: Callable[[History], bool]) -> History | None:
    for table in TABLES:
        rows: list[Row] = getattr(history, table)
        for index in range(len(rows)):
            fewer: dict[str, Any] = {table: rows[:index] + rows[index + 1 :]}
            smaller = replace(history, **fewer)
            if fails(smaller):
                return smaller
    return None


def show(history: History) -> str:
    """The history as text: one line a row, in order of time, times in milliseconds after the first."""
    zero = min(_times(history), default=0)
    as_of = "latest" if history.as_of is None else _relative(history.as_of, zero)
    lines = [f"seed {history.seed}, profile {history.profile}, as_of {as_of}, zero {zero} us"]
    lines += [f"  policy {name}: {overrides}" for name, overrides in sorted(history.policies.items())]
    for table in TABLES:
        lines.append(f"{table}:")
        lines += [f"  {_line(row, zero)}" for row in sorted(getattr(history, table), key=_row_time)]
    return "\n".join(lines)


def _times(history: History) -> list[int]:
    rows = [row for table in TABLES for row in getattr(history, table)]
    return [value for row in rows for column, value in row.items() if column.endswith("_at") and value is not None]


def _row_time(row: Row) -> int:
    return next((row[c] for c in ("published_at", "opened_at", "ended_at", "from_at") if row.get(c) is not None), 0)


def _relative(time: int, zero: int) -> str:
    return f"{(time - zero) / MS_US:+g}ms"


def _line(row: Row, zero: int) -> str:
    filled = {column: value for column, value in row.items() if value is not None and column != "variables"}
    return " ".join(
        f"{column}={_relative(value, zero) if column.endswith('_at') else value}" for column, value in filled.items()
    )

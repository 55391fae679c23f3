"""A messy table: of messages that somebody waits for, some have a slip in their key; and what follows, naively."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from conjoin.kernel.verdicts.nearest import nearest
from conjoin.kernel.verdicts.similar_keys import Awaited, folded

BEGIN = datetime(2026, 2, 2, tzinfo=UTC)
MESSAGES = "position long, name string, correlation_key string, published_at timestamp, ttl_ms long, tenant_id string"
WAITING = (
    "process_id string, name string, correlation_key string, opened_at timestamp, subscription_id string,"
    " instance_id string, element_id string, tenant_id string"
)
NAMES = ("Paid", "Goods shipped")
SLIPS = (
    str.upper,
    lambda key: f" {key}",
    lambda key: f"{key}\u00a0",
    lambda key: key.replace("-", "- "),
    lambda key: f'"{key}"',
    lambda key: key.partition("-")[2],
    lambda key: key.replace("-", "-000"),
    lambda key: key.replace("order", "de-order"),
)

Row = tuple[Any, ...]


def rows(seed: int, orders: int, share: float = 0.03) -> tuple[list[Row], list[Row]]:
    """Messages and subscriptions, one of each for an order; so much of them with a slip, and some that nobody means."""
    rng = random.Random(seed)
    messages, waiting = [], []
    for number in range(orders):
        key = f"order-{number}" if number % 10 else str(number)
        name, tenant = rng.choice(NAMES), rng.choice((None, None, "acme"))
        sent = rng.choice(SLIPS)(key) if rng.random() < share else key
        called = name.upper() if rng.random() < share / 3 else name
        at = BEGIN + timedelta(seconds=number)
        ttl = rng.choice((None, 0, 3_600_000, 864_000_000))
        messages.append((number, called, sent, at + timedelta(minutes=rng.randrange(-5, 6)), ttl, tenant))
        if rng.random() < share:
            messages.append((orders + number, name, f"x{rng.random()}", at, ttl, tenant))
        who = f"s-{number:06}", f"i-{number}", "wait"
        waiting.append(("order", name, key, at, *who, tenant if rng.random() > 0.01 else "other"))
    return messages, waiting


def frames(spark: SparkSession, tables: tuple[list[Row], list[Row]]) -> dict[str, DataFrame]:
    messages, waiting = tables
    return {
        "messages": spark.createDataFrame(messages, MESSAGES),
        "subscriptions": spark.createDataFrame(waiting, WAITING),
    }


def naive(verdicts: Iterable[Any], opened: Iterable[Any]) -> dict[int, dict[tuple[str, str], str]]:
    """By position: who began to wait for exactly this when it was gone; who waits for it in another tenant; or else, of
    all names and keys that somebody still waits for, those that the kernel calls near.
    """
    waiting: dict[tuple[str, str, str], Any] = {}
    for row in opened:
        place = (row["tenant_id"] or "<default>", row["name"], row["correlation_key"])
        waiting[place] = min(waiting.get(place, row["opened_at"]), row["opened_at"])
    found: dict[int, dict[tuple[str, str], str]] = {}
    for row in verdicts:
        if row["verdict"] not in ("buffered", "expired", "discarded"):
            continue
        tenant, name, key = row["tenant_id"] or "<default>", row["name"], row["correlation_key"]
        later = waiting.get((tenant, name, key))
        if later is not None and row["verdict"] != "buffered" and later > row["decided_at"]:
            found[row["position"]] = {(name, key): "time"}
        elif any(place[1:] == (name, key) and place[0] != tenant for place in waiting):
            found[row["position"]] = {(name, key): "tenant"}
        else:
            mine = [
                Awaited(other_name, other, None, None, None)
                for its, other_name, other in sorted(waiting)
                if its == tenant and folded(other_name) == folded(name) and other != key
            ]
            near = {(it.name, it.key): differs for differs, it in nearest(key, mine, lambda _: ())}
            if near:
                found[row["position"]] = near
    return found

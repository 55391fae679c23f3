"""The tables of the example, for any number of messages, and the same every time.

Row number i belongs to place i % 100 of block i // 100; the blocks are spread over one day. A few rows in a thousand
are broken on purpose and must end as dead letters.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from examples.order_to_cash.cases import ENDED_S, ENDING, PLACED, PLACES, SHOP, Message, Subscription, cases

DAY_US = 24 * 3_600 * 1_000_000
BEGIN_US = 1_772_438_400_000_000
"""2026-03-02T08:00:00Z"""

BROKEN_EVERY = 1_000
NO_TIME, NO_JSON = 99, 199
"""Of every thousand messages these two are broken: one has no time, one no JSON object as its variables."""

ROWS_A_FILE = 500_000
_INSTANT = pa.timestamp("us", tz="UTC")

Numbers = Any
"""An array of whole numbers."""


def write_tables(folder: Path, n: int) -> None:
    """A folder of Parquet files for each table."""
    for name, rows in (("messages", n), ("subscriptions", n), ("starts", 1), ("ends", n)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for old in (folder / name).glob("*.parquet"):
            old.unlink()
        for part, first in enumerate(range(0, max(rows, 1), ROWS_A_FILE)):
            table = TABLES[name](n, np.arange(first, min(first + ROWS_A_FILE, rows)))
            pq.write_table(table, folder / name / f"part-{part:05d}.parquet")


def tables(n: int) -> dict[str, pa.Table]:
    """`messages` and `subscriptions` of n rows each, with the `starts` and `ends` that go with them."""
    return {name: make(n, np.arange(n)) for name, make in TABLES.items()}


def _messages(n: int, number: Numbers) -> pa.Table:
    plan, place = [case.message for case in cases()], number % PLACES
    order = _order_of(number, plan)
    copied = np.array([at if m.copy_of is None else m.copy_of for at, m in enumerate(plan)])
    before, after = (_planned(place, [m.key.split("{}")[part] for m in plan]) for part in (0, 1))
    variables = _text('{"orderId":"order-', order, '","amount":', 10 + number % 490, '.90,"currency":"EUR"}')
    return pa.table(
        {
            "name": _planned(place, [m.name for m in plan]),
            "correlation_key": _text(before, order, after),
            "published_at": _instant(n, number, [m.at_s for m in plan], missing=number % BROKEN_EVERY == NO_TIME),
            "message_id": _text("m-", number - place + copied[place]),
            "ttl_ms": _planned(place, [m.ttl_ms for m in plan]),
            "variables": pc.if_else(pa.array(number % BROKEN_EVERY == NO_JSON), "[]", variables),
            "position": pa.array(number),
        }
    )


def _subscriptions(n: int, number: Numbers) -> pa.Table:
    plan, place = [case.subscription for case in cases()], number % PLACES
    open_ended = np.array([s.closed_s is None for s in plan])
    return pa.table(
        {
            "process_id": _planned(place, [s.process for s in plan]),
            "name": _planned(place, [s.name for s in plan]),
            "correlation_key": _text("order-", _order_of(number, plan)),
            "opened_at": _instant(n, number, [s.opened_s for s in plan]),
            "closed_at": _instant(n, number, [s.closed_s or 0 for s in plan], missing=open_ended[place]),
            "subscription_id": _text("s-", number),
            "instance_id": _text("i-", number),
            "element_id": _planned(place, [s.name.lower().replace(" ", "-") for s in plan]),
            "interrupting": _planned(place, [s.interrupting for s in plan]),
        }
    )


def _starts(_: int, __: Numbers) -> pa.Table:
    return pa.table({"process_id": [SHOP], "name": [PLACED], "element_id": ["order-placed"]})


def _ends(n: int, number: Numbers) -> pa.Table:
    ending = number[number % PLACES == ENDING]
    return pa.table(
        {
            "process_id": pa.array([SHOP] * len(ending), pa.string()),
            "correlation_key": _text("order-", ending),
            "ended_at": _instant(n, ending, [ENDED_S] * PLACES),
        }
    )


TABLES: dict[str, Callable[[int, Numbers], pa.Table]] = {
    "messages": _messages,
    "subscriptions": _subscriptions,
    "starts": _starts,
    "ends": _ends,
}


def _planned(place: Numbers, values: list[Any]) -> pa.Array:
    """What the plan says for the place of each row."""
    return pa.array(values).take(pa.array(place))


def _order_of(number: Numbers, plan: Sequence[Message | Subscription]) -> Numbers:
    """The number of the order that each row is about: its own, or that of another place of its block."""
    orders = np.array([place if row.order is None else row.order for place, row in enumerate(plan)])
    return number - number % PLACES + orders[number % PLACES]


def _text(*parts: Any) -> pa.Array:
    texts = [pa.array(part).cast(pa.string()) if isinstance(part, np.ndarray) else part for part in parts]
    return pc.binary_join_element_wise(*texts, "")


def _instant(n: int, number: Numbers, seconds: list[int], missing: Any = None) -> pa.Array:
    """Seconds after the block's begin; the places of a block follow each other by a second."""
    block, place = np.divmod(number, PLACES)
    blocks = (n + PLACES - 1) // PLACES
    at = BEGIN_US + block * (DAY_US // max(blocks, 1)) + (place + np.array(seconds)[place]) * 1_000_000
    return pa.array(at, pa.int64(), mask=missing).cast(_INSTANT)

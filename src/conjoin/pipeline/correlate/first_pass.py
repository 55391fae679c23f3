"""The first pass: what every partition must know before rows are folded, found in one small job.

The latest time of the tables (unless `as_of` is given), the usable start events, whether a position occurs twice
(unless positions are declared unique), and how large variables get. Only the columns that tell it are read, and nothing
is shuffled but a row a task.
"""

import random
from dataclasses import dataclass, field
from typing import Any

import msgspec
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import TABLES, Types, read_column

_TIMES = {"messages": ("published_at",), "subscriptions": ("opened_at", "closed_at"), "ends": ("ended_at",)}
_COLUMNS = ("latest", "positions", "lowest", "highest", "checksum", "longest", "starts")


@dataclass(frozen=True, slots=True)
class FirstPass:
    """`repeated`: how many positions occur more than once. `longest`: the bytes of the longest variables; None: it was
    not looked for."""

    as_of: int
    starts: list[dict[str, Any]] = field(default_factory=list)
    repeated: int = 0
    longest: int | None = None


def look_over(
    tables: dict[str, DataFrame], types: dict[str, Types], as_of: int | None, unique_positions: bool
) -> FirstPass:
    """Nothing is run where everything is known."""
    seed = random.getrandbits(63)
    looks = {name: _aggregates(name, types[name], as_of, unique_positions, seed) for name in tables}
    frames = [_one_row(tables[name], wanted) for name, wanted in looks.items() if wanted]
    if "starts" in tables:
        row = F.to_json(F.struct("process", "name", "tenant", "element", "at", "until"))
        usable = events.usable_starts(tables["starts"])
        frames.append(_one_row(usable, {"starts": F.to_json(F.collect_list(row))}))
    rows = [row for frame in frames[:1] for row in _united(frame, frames[1:]).collect()]
    told = {name: [row[name] for row in rows if row[name] is not None] for name in _COLUMNS}
    starts = [msgspec.json.decode(row) for texts in told["starts"] for row in msgspec.json.decode(texts)]
    latest = max(told["latest"], default=0) if as_of is None else as_of
    repeated = 0
    if told["positions"] and not unique_positions:
        count, lowest, highest, checksum = (told[name][0] for name in _COLUMNS[1:5])
        if not _is_every_number(tables["messages"], (count, lowest, highest, checksum), seed):
            repeated = events.repeated_positions(tables["messages"], types["messages"]).count()
    return FirstPass(latest, starts, repeated, max(told["longest"], default=None))


def _united(first: DataFrame, others: list[DataFrame]) -> DataFrame:
    for other in others:
        first = first.union(other)
    return first


def _aggregates(table: str, types: Types, as_of: int | None, unique_positions: bool, seed: int) -> dict[str, Any]:
    """What is to be found out of a table."""
    read = {contract.name: read_column(contract, types).value for contract in TABLES.get(table, ())}
    found: dict[str, str] = {}
    if as_of is None and table in _TIMES:
        latest = [f"max({read[name]})" for name in _TIMES[table]]
        found["latest"] = f"greatest({', '.join(latest)})" if len(latest) > 1 else latest[0]
    if table == "messages" and "position" in types and not unique_positions:
        at = read["position"]
        found |= {"positions": f"nullif(count({at}), 0)", "lowest": f"min({at})", "highest": f"max({at})"}
        found["checksum"] = f"bit_xor(xxhash64({seed}L, {at}))"
    if found and table == "messages" and "variables" in types:
        found["longest"] = f"max(cast(octet_length({read['variables']}) as bigint))"
    return {name: F.expr(text) for name, text in found.items()}


def _one_row(frame: DataFrame, wanted: dict[str, Any]) -> DataFrame:
    kinds = {name: "string" if name == "starts" else "bigint" for name in _COLUMNS}
    return frame.agg(*(wanted.get(name, F.lit(None)).cast(kinds[name]).alias(name) for name in _COLUMNS))


def _is_every_number(frame: DataFrame, told: tuple[int, int, int, int], seed: int) -> bool:
    """Is each number from the lowest to the highest there once? So many of them, and the exclusive or of their hashes
    is that of all: were one missing, it would be so by one chance in 2^64. The seed is drawn for each run."""
    count, lowest, highest, checksum = told
    if count != highest - lowest + 1:
        return False
    numbers = frame.sparkSession.range(lowest, highest + 1)
    [row] = numbers.agg(F.expr(f"bit_xor(xxhash64({seed}L, id))")).collect()
    return bool(row[0] == checksum)

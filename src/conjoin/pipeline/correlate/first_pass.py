"""The first pass: what every partition must know before rows are folded, found in one small job.

The latest time of the tables (unless `as_of` is given), the usable start events, whether a position occurs twice
(unless positions are declared unique), and how large variables get. Only the columns that tell it are read, and nothing
is shuffled but a row a task.
"""

import random
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import reduce
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from conjoin.pipeline.correlate import events
from conjoin.pipeline.correlate.columns import TABLES, TIMES, Types, read_column
from conjoin.pipeline.correlate.correlated import FirstPass
from conjoin.pipeline.correlate.local.hashing import xxhash64

_AT_ONCE = 1 << 20
_MANY = 1 << 23
"""So many numbers are hashed here; more of them by Spark."""

T = TypeVar("T")

_FOUND = ("latest", "longest", "positions", "lowest", "highest", "checksum")


def look_over(
    tables: dict[str, DataFrame], types: dict[str, Types], as_of: int | None, unique_positions: bool
) -> FirstPass:
    """Nothing is run where everything is known."""
    # A text: numbers become part of the code that Spark makes, which would be made anew for each run.
    seed = f"{random.getrandbits(63):x}"
    wanted = {name: _wanted(name, types[name], as_of, unique_positions, seed) for name in TIMES if name in tables}
    frames = [_one_row(tables[name], some) for name, some in wanted.items() if some]
    found: dict[str, int] = {}
    with beside(tables["messages"].sparkSession, lambda: _starts(tables)) as starts:
        for row in reduce(DataFrame.union, frames).collect() if frames else ():
            for name, value in row.asDict().items():
                if value is not None:
                    found[name] = max(value, found.get(name, value))
    repeated = 0
    messages = tables["messages"], types["messages"]
    if found.get("positions") and not _is_every_number(messages[0], found, seed) and not _are_different(*messages):
        repeated = events.repeated_positions(*messages).count()
    latest = found.get("latest", 0) if as_of is None else as_of
    return FirstPass(latest, starts.result(), repeated, found.get("longest"))


@contextmanager
def beside(spark: SparkSession, work: Callable[[], T]) -> Iterator[Future[T]]:
    """In a thread of its own: the most part of a small job is spent while Spark plans it, on one core."""
    with ThreadPoolExecutor(1) as pool:
        inheriting = inheritable_thread_target(spark)
        yield pool.submit(work if inheriting is spark else inheriting(work))


def _starts(tables: dict[str, DataFrame]) -> list[dict[str, Any]]:
    if "starts" not in tables:
        return []
    return [row.asDict() for row in events.usable_starts(tables["starts"]).collect()]


def _wanted(table: str, types: Types, as_of: int | None, unique_positions: bool, seed: str) -> dict[str, str]:
    """What is to be found out of a table."""
    read = {contract.name: read_column(contract, types).value for contract in TABLES[table]}
    wanted: dict[str, str] = {}
    if as_of is None:
        latest = [f"max({read[name]})" for name in TIMES[table]]
        wanted["latest"] = f"greatest({', '.join(latest)})" if len(latest) > 1 else latest[0]
    if table == "messages" and "position" in types and not unique_positions:
        at = read["position"]
        wanted |= {"positions": f"count({at})", "lowest": f"min({at})", "highest": f"max({at})"}
        wanted["checksum"] = f"bit_xor(if({at} is null, null, {_hash_of(at, seed)}))"
    if wanted and table == "messages" and "variables" in types:
        wanted["longest"] = f"max(octet_length({read['variables']}))"
    return wanted


def _one_row(frame: DataFrame, wanted: dict[str, str]) -> DataFrame:
    return frame.agg(*(F.expr(f"cast({wanted.get(name, 'null')} as bigint)").alias(name) for name in _FOUND))


def _hash_of(number: str, seed: str) -> str:
    return f"xxhash64('{seed}', {number})"


def _is_every_number(frame: DataFrame, found: dict[str, int], seed: str) -> bool:
    """Is each number from the lowest to the highest there once? So many of them, and the exclusive or of their hashes
    is that of all: were one missing, it would be so by one chance in 2^64. The seed is drawn for each run."""
    lowest, highest = found["lowest"], found["highest"]
    if found["positions"] != highest - lowest + 1:
        return False
    if found["positions"] <= _MANY:
        return _checksum_of(lowest, highest, seed) == found["checksum"]
    numbers = frame.sparkSession.range(lowest, highest + 1)
    [row] = numbers.agg(F.expr(f"bit_xor({_hash_of('id', seed)})")).collect()
    return bool(row[0] == found["checksum"])


def _checksum_of(lowest: int, highest: int, seed: str) -> int:
    """The exclusive or of the hashes of all numbers, as Spark has it: a job costs more than some million of them."""
    checksum = 0
    before = xxhash64([pa.array([seed])], 1)[0].as_py()
    for begin in range(lowest, highest + 1, _AT_ONCE):
        numbers = pa.array(np.arange(begin, min(begin + _AT_ONCE, highest + 1), dtype=np.int64))
        checksum ^= int(np.bitwise_xor.reduce(xxhash64([numbers], len(numbers), before).to_numpy()))
    return checksum


def _are_different(frame: DataFrame, types: Types) -> bool:
    """Does every position occur once? As bits, 64 to a block: where positions lie close, a task hands on few blocks."""
    position = next(
        read_column(contract, types).value for contract in TABLES["messages"] if contract.name == "position"
    )
    rows = frame.selectExpr(f"{position} as position").where("position is not null")
    blocks = rows.groupBy(F.expr("shiftright(position, 6)")).agg(
        F.expr("bit_or(shiftleft(1L, cast(position & 63 as int))) as bits"), F.expr("count(*) as rows")
    )
    return blocks.where("bit_count(bits) < rows").isEmpty()

"""A run of an inbox that is a table: messages arrive, somebody waits for each, and the next inbox is written.

Then the same again for as many behind those, which are over: what a run costs for rows that it only carries along.
"""

import time
from typing import NamedTuple

from benchmarks.pipeline.clock import Clock, Measured
from benchmarks.pipeline.measures import Place
from conjoin.kernel.inbox import InboxSettings
from conjoin.pipeline.inbox.tables.folder import ParquetInbox
from conjoin.pipeline.inbox.tables.inbox_run import correlate_inbox

_WARM = 1_000


class OverTables(NamedTuple):
    fresh: Measured
    behind: Measured
    """Behind as many that are over."""


def over_tables(place: Place, messages: int) -> OverTables:
    _run(place, "warm", 0, _WARM)
    return OverTables(_run(place, "inbox-table", 0, messages), _run(place, "inbox-table", messages, messages))


def _run(place: Place, name: str, first: int, messages: int) -> Measured:
    spark, folder, _ = place
    numbers = f"range({first}, {first + messages}, 1, 2)"
    arrivals = spark.sql(
        f"""select concat('m-', id) as id, 'paid' as name, concat('o-', id) as key,
        '{{"amount":100.5}}' as variables from {numbers}"""
    )
    waiting = spark.sql(
        f"""select 'order' as process_id, 'paid' as name, concat('o-', id) as correlation_key, concat('i-', id) as
        instance_id, timestamp '2026-01-01 00:00:00Z' as opened_at from {numbers}"""
    )
    inbox = ParquetInbox(spark, str(folder / name))
    clock, at = Clock(), time.time_ns() // 1_000
    counts = inbox.write(correlate_inbox(arrivals, waiting, inbox.read(), settings=InboxSettings(), at=at), at, "")
    measured = clock.measured(messages)
    assert counts.correlated == messages, counts
    return measured

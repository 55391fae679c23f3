"""What a run reads does not grow with what is parked, over, paused, or stands behind others.

Rows are counted as they come from the store, and the steps that the database takes to find them, so that neither a
long answer nor a long search goes unseen. Nothing here looks at a clock.
"""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import pytest

from conjoin.runtime.inbox.placement import place_of
from conjoin.runtime.inbox.requests import InboxRules, rules_of
from conjoin.runtime.inbox.rows import read_row
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.run.batches import Batch
from conjoin.store import tables as t
from conjoin.store.port import Changes
from conjoin.store.rows import InboxGroupRow, InboxRow
from conjoin.store.sqlite.shard import SqliteSnapshot
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import Bench, preset

Make = Callable[..., Bench]

FEW, MANY = 50, 5_000
STEPS = 100
"""So many steps of the database are one tick of the count."""


@pytest.fixture
def single() -> Iterator[Make]:
    """Rows are put past the log here, so nobody compares the two."""
    clock = FakeClock()
    with closing(temporary_broker(1, clock)) as broker:
        yield lambda settings=None: Bench(broker, clock, settings or preset())


@dataclass
class Cost:
    rows: int = 0
    ticks: int = 0


@contextmanager
def counted(bench: Bench) -> Iterator[Cost]:
    cost = Cost()
    read = SqliteSnapshot._read

    def counting(self: SqliteSnapshot, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        found = read(self, statement, *parameters)
        cost.rows += len(found) if statement.startswith("inbox") else 0
        return found

    def tick() -> int:
        cost.ticks += 1
        return 0

    connection = bench.broker.post.runners[0].store._connected()  # type: ignore[attr-defined]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SqliteSnapshot, "_read", counting)
        connection.set_progress_handler(tick, STEPS)
        yield cost
        connection.set_progress_handler(None, 0)


def put(bench: Bench, change: Callable[[int, InboxRow], dict[str, Any]], count: int, *, groups: bool = False) -> None:
    """So many rows like the first one, each changed; written past the inbox, as so many runs would have left them."""
    [first] = bench.rows(message_id="first")
    rows = [first._replace(**{"key": n, "message_id": f"x-{n}", **change(n, first)}) for n in range(1, count + 1)]
    rows = [row._replace(place=place_of(read_row(row).message, bench.settings)) for row in rows]
    snapshot = bench.broker.store.shard(0).begin()
    head = snapshot.head._replace(version=snapshot.head.version + 1)
    put: dict[Any, list[Any]] = {t.INBOX: rows}
    if groups:
        put[t.INBOX_GROUP] = [InboxGroupRow(row.group_key, "own", row.due_at or 0, 0) for row in rows if row.due_at]
    assert snapshot.commit(Changes(head, put))


def behind(n: int, first: InboxRow) -> dict[str, Any]:
    return {"position": 10**9 + n}


def parked(n: int, first: InboxRow) -> dict[str, Any]:
    return {"state": "parked", "in_line": 0, "parked_for": "held", "due_at": None, "position": -n}


def paused_elsewhere(n: int, first: InboxRow) -> dict[str, Any]:
    return {"state": "paused", "due_at": None, "group_key": f"g{n}"}


def ended(n: int, first: InboxRow) -> dict[str, Any]:
    return {"state": "done", "in_line": 0, "decided_at": first.ingested_at, "due_at": None, "position": -n}


def backing_off(n: int, first: InboxRow) -> dict[str, Any]:
    return {"attempts": 1, "due_at": 2**60, "next_retry_at": 2**60, "position": -n}


CROWDS = {
    "parked": (parked, {}),
    "parked, all": (parked, {"mode": "all"}),
    "parked, strict": (parked, {"mode": "all", "group_gate": "strict"}),
    "over": (ended, {}),
    "paused in other groups": (paused_elsewhere, {}),
    "in back-off, all": (backing_off, {"mode": "all"}),
}


@pytest.mark.parametrize("crowd", CROWDS)
def test_a_crowd_that_is_not_due_costs_a_run_nothing(single: Make, crowd: str) -> None:
    change, settings = CROWDS[crowd]
    costs = []
    bench = single(preset(**settings))
    bench.send("o-1", "first")
    bench.run()
    for count in (FEW, MANY):
        put(bench, change, count)
        bench.wait(f"k-{count}")
        bench.send("o-1", f"new-{count}")
        bench.send(f"k-{count}", f"other-{count}")
        with counted(bench) as cost:
            assert bench.run().correlated == 1
        costs.append(cost)
    few, many = costs
    assert many.rows <= few.rows + 4
    assert many.ticks <= 1.5 * few.ticks + 10


@pytest.mark.parametrize("gate", ["own", "strict"])
def test_a_crowd_behind_a_message_that_fails_costs_a_run_nothing(single: Make, gate: str) -> None:
    bench = single(preset(group_gate=gate, backoff_base=1.0))
    bench.send("o-1", "first")
    bench.run()
    costs = []
    for count in (FEW, MANY):
        put(bench, behind, count)
        # Only the head of the line is due; the run tries it, and it fails once more.
        with counted(bench) as cost:
            assert bench.run(after_s=60).target_error == 1
        costs.append(cost)
        with counted(bench) as idle:
            assert bench.run(after_s=1) == type(bench.run())()
        assert idle.rows == 0
    few, many = costs
    assert many.rows <= few.rows + 1_001, "no more than what could be tried in one commit"
    assert many.ticks <= 12 * few.ticks + 5_000


def test_a_crowd_that_arrives_behind_a_message_that_fails_wakes_nobody(single: Make) -> None:
    bench = single()
    bench.send("o-1", "first")
    bench.run()
    due = bench.groups()
    bench.send_many([bench.arrival("o-1", f"m-{n}") for n in range(300)])
    assert bench.groups() == due
    with counted(bench) as cost:
        bench.run(after_s=1)
    assert cost.rows == 0


def test_cleanup_reads_what_it_ends_and_no_more(single: Make) -> None:
    bench = single()
    bench.send("o-1", "first")
    costs = []
    for count in (FEW, MANY):
        put(bench, parked, count)
        bench.send("o-2", f"old-{count}", headers=[("X-CORRELATE-Expiration", "2029-01-01T00:00:00Z")])
        with counted(bench) as cost:
            assert bench.clean().expired == 1
        costs.append(cost)
    assert costs[1].rows <= costs[0].rows
    assert costs[1].ticks <= 1.5 * costs[0].ticks + 10


def test_arrivals_look_for_their_own_ids_only(single: Make) -> None:
    bench = single()
    bench.send("o-1", "first")
    costs = []
    for count in (FEW, MANY):
        put(bench, parked, count)
        with counted(bench) as cost:
            bench.send("o-1", f"new-{count}")
        costs.append(cost)
    assert costs[1].ticks <= 1.5 * costs[0].ticks + 10


def test_rules_are_noted_once_and_then_cost_one_look(single: Make) -> None:
    bench = single()
    bench.send("o-1", "first")
    bench.run()
    put(bench, paused_elsewhere, MANY)
    with counted(bench) as cost:
        bench.broker.post.run(0, Batch([InboxRules(rules_of(bench.settings))]))
    assert (cost.rows, cost.ticks) == (0, 0)

"""Tasks that are killed and tried again, doubled or late take each row once; a large batch beside small ones."""

from collections import Counter
from contextlib import closing

import pytest

from conjoin.store import open_store
from conjoin.store import tables as t
from conjoin.testing.checking import read_history
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.processes import CONTEXT, KILLED, PATIENCE_S, Fault, asleep, end, start, write
from tests.faults.task_writer import (
    Small,
    Task,
    note_asked,
    publish_small,
    run_large,
    run_rows,
    run_rows_and_wait,
)

ROWS = 120
SHARDS = 3
COMMIT_POINTS = ("begun", "decided", "encoded", "writing", "written", "committed")


def new_task(at: Round) -> Task:
    """Small commits, so that a task has several."""
    task = Task(at.store, at.history, ROWS, SHARDS, at_once=10)
    note_asked(task)
    return task


def finish(at: Round) -> None:
    """Every row became one message, whoever took it."""
    assert end(start(write, at.chapter(1_000, 10, ends=True))) == 0
    with closing(open_store(at.store)) as store:
        found = Counter(row.variables for row in store.rows(t.MESSAGE, {"name": "paid"}, None, 10_000))
    assert [found[f'{{"request_t{number}":true}}'] for number in range(ROWS)] == [1] * ROWS
    assert at.finding() == ("yes", "")


def test_a_task_that_is_run_again_takes_nothing_twice(on_sqlite: MakeRound, seed: int) -> None:
    at = on_sqlite(f"{seed}/again", SHARDS)
    task = new_task(at)
    assert end(start(run_rows, task)) == 0
    answered = len(read_history(at.history).answers)
    assert end(start(run_rows, task)) == 0
    assert answered == len(read_history(at.history).answers) == ROWS
    finish(at)


@pytest.mark.parametrize("point", COMMIT_POINTS)
def test_a_task_that_is_killed_and_tried_again_takes_each_row_once(on_sqlite: MakeRound, seed: int, point: str) -> None:
    at = on_sqlite(f"{seed}/killed", SHARDS)
    task = new_task(at)
    for nth in (2, 4):
        assert end(start(run_rows, task, Fault(point, nth))) == KILLED
    assert end(start(run_rows, task)) == 0
    finish(at)


@pytest.mark.parametrize("make", ["on_sqlite", "on_postgres"])
def test_speculative_tasks_beside_each_other_take_each_row_once(
    request: pytest.FixtureRequest, seed: int, make: str
) -> None:
    at = request.getfixturevalue(make)(f"{seed}/speculative", SHARDS)
    task = new_task(at)
    tasks = [start(run_rows, task) for _ in range(3)]
    assert [end(process) for process in tasks] == [0, 0, 0]
    assert len(read_history(at.history).answers) == ROWS
    finish(at)


@pytest.mark.parametrize("point", ["loaded", "decided", "encoded"])
def test_a_task_that_wakes_up_after_its_double_has_ended_takes_nothing(
    on_sqlite: MakeRound, seed: int, point: str
) -> None:
    at = on_sqlite(f"{seed}/late", SHARDS)
    task = new_task(at)
    with asleep(task, Fault(point, 5), run_rows_and_wait) as sleeps:
        assert sleeps
        assert end(start(run_rows, task)) == 0
    assert len(read_history(at.history).answers) == ROWS
    finish(at)


LARGE = 10_000
SMALL_PER_SECOND = 500


def test_a_large_batch_beside_many_small_ones_starves_nobody(on_sqlite: MakeRound, seed: int) -> None:
    at = on_sqlite(f"{seed}/large", 1)
    task = Task(at.store, at.history, LARGE, 1)
    note_asked(task)
    enough, told = CONTEXT.Event(), CONTEXT.Queue()
    small = start(publish_small, task, SMALL_PER_SECOND, enough, told)
    races = CONTEXT.Queue()
    assert end(start(run_large, task, races)) == 0
    enough.set()
    assert end(small) == 0
    served: Small = told.get(timeout=PATIENCE_S)
    lost = races.get(timeout=PATIENCE_S)
    outcomes = Counter(answer.request[0] for answer in read_history(at.history).answers.values())
    assert outcomes == {"t": LARGE, "s": served.answered}
    assert served.answered > SMALL_PER_SECOND / 10
    assert served.longest_s < PATIENCE_S / 4
    assert lost + served.lost_races > 0
    assert lost <= 2 * LARGE / 1_000, "after two lost races in a row it locks"
    assert at.finding() == ("yes", "")

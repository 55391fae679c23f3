"""Two writers at once on the same shards, and one who wakes up after the others have moved on: the same checker.

A test of the tests: writers that commit whatever others have done meanwhile must be found out.
"""

from random import Random
from typing import Any

import pytest

from conjoin.store.port import Changes
from conjoin.store.sqlite.shard import SqliteSnapshot, _write
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.processes import KILLED, Fault, asleep, end, start, write, write_and_wait
from tests.faults.writer import Chapter, tell

ROUNDS = 4
REQUESTS = 25
SLEEPING_POINTS = ("begun", "loaded", "decided", "encoded", "committed", "delivering", "delivered")
"""Where nobody else is kept waiting."""


@pytest.fixture(params=["on_sqlite", "on_postgres"])
def make_round(request: pytest.FixtureRequest) -> MakeRound:
    return request.getfixturevalue(request.param)  # type: ignore[no-any-return]


@pytest.mark.parametrize("shards", [1, 3])
def test_two_writers_on_the_same_shards_lose_nothing(make_round: MakeRound, seed: int, shards: int) -> None:
    at = make_round(f"{seed}/two", shards)
    both = [start(write, at.chapter(0, 2 * REQUESTS, writer=name)) for name in "ab"]
    assert [end(process) for process in both] == [0, 0]
    assert end(start(write, at.chapter(100, REQUESTS, ends=True))) == 0
    assert at.finding() == ("yes", "")


@pytest.mark.parametrize("number", range(ROUNDS))
def test_of_two_writers_one_is_killed_and_the_other_goes_on(make_round: MakeRound, seed: int, number: int) -> None:
    rng = Random(f"{seed}/{number}")
    at = make_round(f"{seed}/{number}", rng.choice([1, 3]))
    fault = Fault(rng.choice(["decided", "writing", "written", "committed"]), rng.randint(1, REQUESTS))
    killed = start(write, at.chapter(0, 2 * REQUESTS, writer="a"), fault)
    other = start(write, at.chapter(0, REQUESTS, writer="b"))
    assert (end(killed), end(other)) == (KILLED, 0)
    assert end(start(write, at.chapter(100, REQUESTS, ends=True))) == 0
    assert at.finding() == ("yes", ""), f"seed {seed}/{number}: {fault}"


@pytest.mark.parametrize("point", SLEEPING_POINTS)
def test_who_wakes_up_after_the_shard_has_moved_on_does_no_harm(on_sqlite: MakeRound, seed: int, point: str) -> None:
    _wake_up_late(on_sqlite(f"{seed}/{point}", 3), point)


@pytest.mark.parametrize("point", ["decided", "encoded", "delivering"])
def test_who_wakes_up_late_does_no_harm_on_postgres(on_postgres: MakeRound, seed: int, point: str) -> None:
    _wake_up_late(on_postgres(f"{seed}/{point}", 3), point)


def _wake_up_late(at: Round, point: str) -> None:
    with asleep(at.chapter(0, 2 * REQUESTS, writer="a"), Fault(point, 2)) as sleeps:
        assert sleeps
        assert end(start(write, at.chapter(30, 2 * REQUESTS, writer="b", ends=True))) == 0
    assert end(start(write, at.chapter(10_000, REQUESTS, ends=True))) == 0
    assert at.finding() == ("yes", "")


def commit_whatever_others_did(snapshot: Any, changes: Changes) -> bool:
    """A commit without the compare in its compare-and-swap."""
    connection, snapshot._open = snapshot._connection, False
    connection.execute("rollback")
    connection.execute("begin immediate")
    connection.execute("update shard set version = ?, next_key = ?, time = ?, sent = ?", changes.head)
    _write(connection, changes)
    connection.execute("commit")
    snapshot._end(False)
    return True


def write_blindly(chapter: Chapter) -> None:
    """Runs in a process of its own."""
    SqliteSnapshot.commit = commit_whatever_others_did  # type: ignore[method-assign, assignment]
    tell(chapter)


def write_blindly_and_wait(*arguments: Any) -> None:
    """Runs in a process of its own."""
    SqliteSnapshot.commit = commit_whatever_others_did  # type: ignore[method-assign, assignment]
    write_and_wait(*arguments)


def test_without_compare_and_swap_a_writer_that_wakes_up_is_found_out(on_sqlite: MakeRound, seed: int) -> None:
    at = on_sqlite(f"{seed}/blind", 1)
    sleeper = at.chapter(0, REQUESTS, writer="a")
    with asleep(sleeper, Fault("encoded", 2), write_blindly_and_wait, may_stumble=True) as sleeps:
        assert sleeps
        assert end(start(write_blindly, at.chapter(0, REQUESTS, writer="b"))) == 0
    assert at.finding().answer == "no"


def test_without_compare_and_swap_two_writers_are_found_out(on_sqlite: MakeRound, seed: int) -> None:
    answers = []
    # On a crowded machine the first may be done before the second begins: then there is nothing to be found.
    while "no" not in answers:
        assert len(answers) < 8
        at = on_sqlite(f"{seed}/blind/{len(answers)}", 1)
        both = [start(write_blindly, at.chapter(0, 8 * REQUESTS, writer=name)) for name in "ab"]
        for process in both:
            # They may stumble over what the other one has overwritten.
            end(process)
        answers.append(at.finding().answer)

"""PostgreSQL goes away in the middle of a commit and comes back: what may or may not have happened is found out."""

from typing import Any

import pytest

from conjoin.testing.checking import read_history
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.processes import Fault, asleep, end, start, write

REQUESTS = 25
CUTTING_POINTS = ("loaded", "writing", "written", "committed")
_CUT_ALL = "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'conjoin'"


def finish(at: Round) -> None:
    assert end(start(write, at.chapter(1_000, REQUESTS, ends=True))) == 0
    assert at.finding() == ("yes", "")
    answers = read_history(at.history).answers.values()
    assert sum(answer.outcome == "done" for answer in answers) > REQUESTS, "hardly anything was done at all"


@pytest.mark.parametrize("point", CUTTING_POINTS)
def test_connections_that_are_cut_in_a_commit_lose_nothing(
    postgres_server: Any, on_postgres: MakeRound, seed: int, point: str
) -> None:
    at = on_postgres(f"{seed}/{point}", 3)
    with asleep(at.chapter(0, 2 * REQUESTS), Fault(point, 12)) as sleeps:
        assert sleeps
        postgres_server.execute(_CUT_ALL)
    finish(at)


@pytest.mark.parametrize("point", ["decided", "written"])
def test_a_server_that_crashes_in_a_commit_and_comes_back_loses_nothing(
    postgres_server: Any, on_postgres: MakeRound, seed: int, point: str
) -> None:
    at = on_postgres(f"{seed}/{point}", 3)
    with asleep(at.chapter(0, 2 * REQUESTS), Fault(point, 12)) as sleeps:
        assert sleeps
        postgres_server.stop("immediate")
        postgres_server.start()
    finish(at)


def test_connections_that_are_cut_again_and_again_lose_nothing(
    postgres_server: Any, on_postgres: MakeRound, seed: int
) -> None:
    at = on_postgres(f"{seed}/again", 3)
    writer = start(write, at.chapter(0, 4 * REQUESTS))
    while writer.exitcode is None:
        postgres_server.execute(_CUT_ALL)
        writer.join(0.1)
    assert end(writer) == 0
    assert any(answer.outcome == "failed" for answer in read_history(at.history).answers.values())
    finish(at)

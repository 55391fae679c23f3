"""The checker: yes for a store that kept its word, no with the reason for one that did not, else unknown."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conjoin.testing.checking import HistoryFile, RequestAnswered, RequestMade, marked, read_history
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.writer import Chapter, tell

Line = list[Any]


@pytest.fixture
def at(on_sqlite: MakeRound) -> Round:
    """A story in which everything happens: a process, its messages and its job; a start, its lock, and a duplicate."""
    made = on_sqlite("told", 1)
    tell(made.chapter(0, 80, ends=True))
    return made


def change(at: Round, statement: str) -> None:
    with closing(sqlite3.connect(Path(at.store) / "shard-00.db")) as connection:
        changed = connection.execute(statement).rowcount
        connection.commit()
    assert changed > 0, f"nothing to change: {statement}"


def rewrite(at: Round, edit: Callable[[list[Line]], None]) -> None:
    lines = [json.loads(line) for line in at.history.read_text().splitlines()]
    edit(lines)
    at.history.write_text("".join(json.dumps(line) + "\n" for line in lines))


def lines_of(lines: list[Line], kind: str, outcome: str) -> list[tuple[Line, Line]]:
    """What was asked and what was answered, of the requests of a kind that ended in a way."""
    answers = {line[1]: line for line in lines if line[0] == "answered" and line[2] == outcome}
    return [(line, answers[line[1]]) for line in lines if line[0] == "made" and line[2] == kind and line[1] in answers]


def test_a_story_without_faults_is_true(at: Round) -> None:
    assert at.finding() == ("yes", "")


_ONE_TAKEN = "key = (select min(key) from message where reason = 'waiting_instance')"
_COPY = "1000000 + key, tenant_id, correlation_key, name, message_id, business_id, published_at, deadline, live, due_at"


@pytest.mark.parametrize(
    ("statement", "sentence"),
    [
        (f"delete from message where {_ONE_TAKEN}", "was answered, and its message is not there"),
        (
            f"insert into message select {_COPY}, policy_version, verdict, reason, decided_at, variables, record"
            " from message where verdict = 'discarded' limit 1",
            "became 2 messages",
        ),
        (f"update message set variables = '{{}}' where {_ONE_TAKEN}", "comes from no request"),
        (f"update message set name = 'billed' where {_ONE_TAKEN}", "had the name 'settled', and message"),
        ("update message set verdict = 'buffered' where verdict = 'refused'", "answered with refused, and message"),
        (f"update message set record = '[0]' where {_ONE_TAKEN}", "is correlated, and 0 have it"),
        ("update instance set body = replace(body, 'request_', 'lost_')", "had no effect there"),
        ("delete from instance where started = 'message'", "had no effect there"),
        (
            "update message set deadline = deadline + 10000000000 where message_id != ''",
            "were both accepted with one id",
        ),
        ("update message set reason = 'duplicate_id' where reason = 'not_found'", "no other of its id was there"),
        ("insert into outbox values (1, 0, 0, '[]')", "order 1 of shard 0 to shard 0 was not carried out"),
        ("update subscription_apart set busy_with = 1", "waits for an answer about message 1 for ever"),
        ("update instance set incidents = 5", "does not replay to its tables: instance"),
        ("delete from log where version = 9", "does not replay to its tables: the log has a hole"),
        ("update instance set state = 'active' where state = 'terminated'", "which has not ended so"),
    ],
)
def test_a_table_that_was_tampered_with_is_found_out(at: Round, statement: str, sentence: str) -> None:
    change(at, statement)
    finding = at.finding()
    assert finding.answer == "no"
    assert sentence in finding.sentence


def _other_key(lines: list[Line]) -> None:
    lines_of(lines, "publish", "done")[0][1][3]["key"] = 7


def _other_instance(lines: list[Line]) -> None:
    lines_of(lines, "create", "done")[0][1][3]["key"] = 7


def _other_job(lines: list[Line]) -> None:
    lines_of(lines, "complete", "done")[0][0][3]["job"] = 7


def _unheard_completion(lines: list[Line]) -> None:
    lines_of(lines, "complete", "done")[0][1][2:] = ["refused", {"code": "NOT_FOUND"}]


def _other_worker(lines: list[Line]) -> None:
    given = [answer for _, answer in lines_of(lines, "activate", "done") if answer[3]["jobs"]]
    given[0][3]["jobs"] = [7]


def _nobody_cancelled(lines: list[Line]) -> None:
    lines_of(lines, "cancel", "done")[0][0][2:] = ["tick", {}]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (_other_key, "was answered with message 7"),
        (_other_instance, "was answered with instance 7, which is not there"),
        (_other_job, "which did not ask for it"),
        (_unheard_completion, "was answered with refused, and it completed"),
        (_other_worker, "was given job 7, and the log says so 0 times"),
        (_nobody_cancelled, "nobody has cancelled it"),
    ],
    ids=lambda it: getattr(it, "__name__", ""),
)
def test_a_promise_that_the_tables_do_not_keep_is_found_out(
    at: Round, edit: Callable[[list[Line]], None], sentence: str
) -> None:
    rewrite(at, edit)
    finding = at.finding()
    assert finding.answer == "no"
    assert sentence in finding.sentence


def test_what_was_not_answered_may_have_happened_or_not(at: Round) -> None:
    def forget(lines: list[Line]) -> None:
        for _, answer in lines_of(lines, "publish", "done") + lines_of(lines, "complete", "done"):
            lines.remove(answer)

    rewrite(at, forget)
    with closing(HistoryFile(at.history)) as history:
        history.made(RequestMade("late", "publish", {"name": "paid", "variables": marked("late", {})}))
        history.made(RequestMade("failed", "publish", {"name": "paid", "variables": marked("failed", {})}))
        history.answered(RequestAnswered("failed", "failed", {"code": "store_failed"}))
    assert at.finding() == ("yes", "")


def test_with_a_torn_line_nobody_knows(at: Round) -> None:
    at.history.write_bytes(at.history.read_bytes()[:-5])
    finding = at.finding()
    assert finding.answer == "unknown"
    assert "cannot be read" in finding.sentence


def test_an_answer_to_nobodys_question_makes_the_history_incomplete(at: Round) -> None:
    rewrite(at, lambda lines: lines.remove(lines[0]))
    assert at.finding() == ("unknown", "request a0 was answered, and the history does not say what it asked")


def test_a_request_told_twice_makes_the_history_incomplete(at: Round) -> None:
    rewrite(at, lambda lines: lines.append(lines[0]))
    assert at.finding().answer == "unknown"


def test_without_the_head_of_the_log_nobody_knows(at: Round) -> None:
    change(at, "delete from log where version < 5")
    assert at.finding() == ("unknown", "the head of the log was removed, so it cannot be replayed")


def test_lines_of_several_writers_stand_in_one_history(at: Round) -> None:
    tell(Chapter(at.store, at.history, "told", 10_000, 5, writer="b", ends=True))
    assert {request[0] for request in read_history(at.history).requests} == {"a", "b"}
    assert at.finding() == ("yes", "")

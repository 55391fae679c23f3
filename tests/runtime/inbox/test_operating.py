"""What people can do with messages: each operation has its effect, leaves a line with who did it, and loses nothing."""

from itertools import count

import pytest

from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import (
    Correct,
    Delete,
    Operation,
    OperationRefused,
    Pause,
    Release,
    Resume,
    RetryNow,
    SetAttempts,
    SetNextRetry,
)
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox import inbox as inbox_module
from conjoin.runtime.inbox.cross_shard import Shards, finish_moves
from conjoin.runtime.inbox.requests import InboxMoveIn, InboxMoveOut, InboxRequest
from conjoin.runtime.reading.lists import ListQuery
from tests.runtime.inbox.bench import REMOTE, Bench, preset
from tests.runtime.inbox.conftest import Make

HOUR_US = 3_600_000_000


def failed(bench: Bench, id_: str = "m-1", key: str = "o-1") -> Bench:
    bench.send(key, id_)
    bench.run()
    return bench


def test_a_paused_message_is_not_tried_until_it_is_resumed(bench: Bench) -> None:
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    bench.operate("m-1", Pause())
    assert bench.run().correlated == 0
    bench.operate("m-1", Resume())
    assert bench.run(after_s=6).correlated == 1


def test_retry_now_passes_over_the_back_off(bench: Bench) -> None:
    failed(bench)
    bench.wait("o-1")
    bench.operate("m-1", RetryNow())
    assert bench.run(after_s=1).correlated == 1


def test_a_parked_message_is_released_with_all_its_attempts(make: Make) -> None:
    bench = failed(make(preset(max_attempts=1)))
    assert bench.row("m-1").state == "parked"
    assert bench.operate("m-1", Release()) == ""
    assert (bench.row("m-1").attempts, bench.run(after_s=1).target_error) == (0, 1)


def test_attempts_and_next_retry_can_be_set(bench: Bench) -> None:
    failed(bench)
    bench.operate("m-1", SetAttempts(100))
    assert bench.row("m-1").state == "parked"
    bench.operate("m-1", SetAttempts(7))
    bench.operate("m-1", SetNextRetry(bench.broker.now + HOUR_US))
    bench.wait("o-1")
    assert bench.run(after_s=3_599).correlated == 0
    assert bench.run(after_s=1).correlated == 1


def test_a_deleted_message_is_gone_for_good_but_known(bench: Bench) -> None:
    failed(bench)
    bench.send("o-1", "m-2")
    bench.wait("o-1")
    bench.operate("m-1", Delete())
    assert (bench.row("m-1").verdict, bench.row("m-1").reason) == ("discarded", "deleted")
    assert bench.run(after_s=6).correlated == 1, "whoever stood behind it has its turn"
    assert bench.send("o-1", "m-1").duplicate == 1
    assert bench.operate("m-1", Pause()) == "ended"


def test_a_corrected_payload_is_tried_anew(bench: Bench) -> None:
    bench.wait("o-1")
    bench.send("o-1", "m-1", payload=b"{")
    assert bench.run().decode_error == 1
    bench.operate("m-1", Correct(payload=b'{"n": 1}'))
    assert bench.run(after_s=6).correlated == 1
    shown = bench.inbox.show(bench.row("m-1").key)
    assert shown is not None
    assert shown.payload == b'{"n": 1}'


@pytest.mark.parametrize("number", range(6))
def test_a_corrected_key_finds_its_receiver_whichever_shard_it_is_on(bench: Bench, number: int) -> None:
    failed(bench, key="wrong")
    bench.wait(f"right-{number}")
    key = bench.row("m-1").key
    bench.operate("m-1", Correct(hint=Hint("paid", f"right-{number}")))
    assert bench.row("m-1").key == key
    assert bench.run(after_s=6).correlated == 1
    row = bench.row("m-1")
    assert (row.state, row.correlation_key, row.lines) == ("done", f"right-{number}", 3)
    assert [line.kind for line in bench.history("m-1")] == ["attempt", "correct", "attempt"]
    assert bench.groups() == {}


def test_a_message_that_has_moved_is_still_known_where_it_came_from(sharded: Make) -> None:
    bench = failed(sharded(), key="wrong")
    right = elsewhere("wrong")
    bench.operate("m-1", Correct(hint=Hint("paid", right)))
    assert bench.send("wrong", "m-1").duplicate == 1
    bench.operate("m-1", Correct(hint=Hint("paid", "wrong")))
    assert bench.send("wrong", "m-1").duplicate == 1
    assert bench.send(right, "m-1").duplicate == 1
    live = [row for row in bench.rows() if row.state == "waiting"]
    assert [row.correlation_key for row in live] == ["wrong"]


def test_a_paused_message_moves_and_stays_paused(sharded: Make) -> None:
    bench = failed(sharded(), key="wrong")
    right = elsewhere("wrong")
    bench.wait(right)
    bench.operate("m-1", Pause())
    bench.operate("m-1", Correct(hint=Hint("paid", right)))
    assert (bench.row("m-1").state, bench.run(after_s=6).correlated) == ("paused", 0)
    bench.operate("m-1", Resume())
    assert bench.run(after_s=6).correlated == 1


def test_a_remote_message_moves_with_its_group(bench: Bench) -> None:
    for number in range(5):
        bench.send("", f"m-{number}", REMOTE, hint=Hint("paid", business_key="wrong"))
        bench.operate(f"m-{number}", Correct(hint=Hint("paid", business_key=f"right-{number}")))
    assert bench.run().correlated == 5


def elsewhere(key: str, shards: int = 3) -> str:
    """A key on another shard."""
    return next(f"k-{n}" for n in count() if shard_of(f"k-{n}", shards) != shard_of(key, shards))


class Crash(Exception):  # noqa: N818 - it is what happens
    pass


@pytest.mark.parametrize("step", ["corrected", "stored there", "removed here"])
@pytest.mark.parametrize("after", [InboxMoveIn, InboxMoveOut])
def test_a_message_is_there_once_whatever_dies_while_it_moves(
    sharded: Make, monkeypatch: pytest.MonkeyPatch, step: str, after: type[InboxRequest]
) -> None:
    bench = failed(sharded(), key="wrong")
    right = elsewhere("wrong")
    bench.wait(right)
    ask = Shards.ask

    def dying(self: Shards, shard: int, request: InboxRequest) -> object:
        if step == "corrected" and isinstance(request, InboxMoveIn):
            raise Crash
        reply = ask(self, shard, request)
        if step != "corrected" and isinstance(request, after):
            raise Crash
        return reply

    with monkeypatch.context() as patch:
        patch.setattr(Shards, "ask", dying)
        with pytest.raises(Crash):
            bench.operate("m-1", Correct(hint=Hint("paid", right)))
    assert bench.run(after_s=6).correlated == 1
    rows = [row for row in bench.rows() if row.state != "deleted"]
    assert [(row.state, row.correlation_key) for row in rows] == [("done", right)]
    assert finish_moves(bench.inbox.shards) == 0


def test_nobody_interferes_with_a_message_while_it_moves(sharded: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = failed(sharded(), key="wrong")
    monkeypatch.setattr(inbox_module, "finish_moves", lambda shards: 0)
    key = bench.row("m-1").key
    bench.inbox.operate(key, Correct(hint=Hint("paid", elsewhere("wrong"))), "eve")
    answers = [
        reply
        for shard in range(3)
        for reply in bench.inbox.shards.ask(
            shard, inbox_module.InboxOperate([key], Pause(), "eve", bench.settings)
        ).answers
    ]
    assert sorted(answer.code for answer in answers if isinstance(answer, OperationRefused)) == [
        "moving",
        "not_found",
        "not_found",
    ]


@pytest.mark.parametrize(
    ("operation", "kind", "asked"),
    [
        (Pause(), "pause", "{}"),
        (RetryNow(), "retry", "{}"),
        (SetAttempts(3), "set_attempts", '{"attempts":3}'),
        (Correct(payload=b"{}"), "correct", '{"payload":"2 bytes"}'),
        (Correct(hint=Hint("paid", "o-2")), "correct", '{"hint":{"name":"paid","correlation_key":"o-2"}}'),
        (Delete(), "delete", "{}"),
    ],
)
def test_every_operation_leaves_a_line_with_who_and_when(
    single: Make, operation: Operation, kind: str, asked: str
) -> None:
    bench = failed(single())
    bench.clock.advance_ms(1_000)
    bench.operate("m-1", operation, who="eve@desk")
    line = bench.history("m-1")[-1]
    assert (line.kind, line.who, line.asked, line.at) == (kind, "eve@desk", asked, bench.broker.now)


@pytest.mark.parametrize(
    ("operation", "code"),
    [
        (Resume(), "not_paused"),
        (Release(), "not_parked"),
        (SetAttempts(-1), "invalid"),
        (Correct(), "invalid"),
        (Correct(hint=Hint("paid", "k\0")), "invalid"),
        (Correct(hint=Hint("paid", "k", {"x": object()})), "invalid"),
        (Correct(payload=b"x" * 5_000_000), "too_large"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_no_line(bench: Bench, operation: Operation, code: str) -> None:
    failed(bench)
    before = bench.row("m-1")
    assert bench.operate("m-1", operation) == code
    assert bench.row("m-1") == before


def test_a_key_that_there_is_not_is_refused(bench: Bench) -> None:
    answer = bench.inbox.operate(4711, Pause(), "eve")
    assert isinstance(answer, OperationRefused)
    assert answer.code == "not_found"


def test_a_whole_selection_is_released(make: Make) -> None:
    bench = make(preset(max_attempts=1))
    bench.send_many([bench.arrival(f"o-{n}", f"m-{n}", payload=b"{" if n % 3 else b"{}") for n in range(30)])
    bench.run()
    asked = ListQuery({"state": "parked", "error": "decode_error"})
    assert bench.inbox.operate_on_all(asked, Release(), "eve") == (20, {})
    states = list(bench.states().values())
    assert (states.count("waiting"), states.count("parked")) == (20, 10)


def test_of_a_selection_those_that_cannot_be_changed_are_counted(single: Make) -> None:
    bench = single()
    bench.wait("o-0")
    for number in range(3):
        bench.send(f"o-{number}", f"m-{number}")
    bench.run()
    assert bench.inbox.operate_on_all(ListQuery(), Pause(), "eve") == (2, {"ended": 1})


def test_a_selection_is_larger_than_a_commit(single: Make) -> None:
    bench = single()
    bench.send_many([bench.arrival(f"o-{n}", f"m-{n}") for n in range(250)])
    bench.inbox._at_once = 100
    assert bench.inbox.operate_on_all(ListQuery({"state": "waiting"}), Pause(), "eve") == (250, {})
    assert set(bench.states().values()) == {"paused"}


def test_a_selection_is_rehearsed_without_changing_anything(sharded: Make) -> None:
    bench = sharded(preset(max_attempts=1))
    for number in range(5):
        bench.send(f"o-{number}", f"m-{number}")
    bench.run()
    bench.operate("m-0", Delete())
    before = bench.rows()
    assert bench.inbox.rehearse_on_all(ListQuery(), Release()) == (4, {"ended": 1})
    assert bench.rows() == before
    assert bench.inbox.operate_on_all(ListQuery(), Release(), "eve") == (4, {"ended": 1})

"""Messages for remote systems: the intent is stored before the call and the outcome after it, group by group."""

from threading import Lock

import pytest

from conjoin.kernel.inbox import InboxMessage
from conjoin.kernel.inbox.message import MAPPING_ERROR, TARGET_ERROR, Hint
from conjoin.kernel.inbox.outcomes import Delivered, Failed, Outcome, Unanswered
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.inbox.requests import InboxBook, InboxIntend
from conjoin.runtime.inbox.runner import IN_FLIGHT
from tests.runtime.inbox.bench import REMOTE, Bench, preset
from tests.runtime.inbox.conftest import Make

NO = Failed(TARGET_ERROR, "HTTP 503")


def send(bench: Bench, id_: str, key: str = "o-1", **about: object) -> None:
    bench.send("", id_, REMOTE, hint=Hint("paid", business_key=key, correlation_variables={"n": 1}), **about)


def test_a_message_is_delivered_with_payload_hint_and_headers(bench: Bench) -> None:
    seen: list[InboxMessage] = []

    class Keeping:
        def deliver(self, message: InboxMessage) -> Outcome:
            seen.append(message)
            return Delivered("correlated", "waiting_instance", "execution 7")

    bench.targets = {"elsewhere": Keeping()}
    bench.configure(bench.settings)
    send(bench, "m-1", payload=b"\x00raw", headers=[("traceparent", "00-1")])
    assert bench.run().correlated == 1
    [message] = seen
    assert (message.payload, message.hint.business_key, message.target) == (b"\x00raw", "o-1", "elsewhere")
    assert message.hint.correlation_variables == {"n": 1}
    assert message.headers["traceparent"] == "00-1"
    row = bench.row("m-1")
    assert (row.state, row.taken_by) == ("done", "execution 7")
    [line] = bench.history("m-1")
    assert '"business_key":"o-1"' in line.asked
    assert line.answered == "execution 7"


def test_the_intent_is_stored_before_the_call(bench: Bench) -> None:
    states: list[str] = []

    class Looking:
        def deliver(self, message: InboxMessage) -> Outcome:
            states.append(bench.row(message.message_id).state)
            return Delivered()

    bench.targets = {"elsewhere": Looking()}
    bench.configure(bench.settings)
    send(bench, "m-1")
    bench.run()
    assert states == ["uncertain"]


def intended(bench: Bench) -> list[str]:
    """Somebody stores his intent on every shard, and is never heard of again."""
    found = []
    for shard in range(bench.broker.shard_count):
        request = InboxIntend(bench.settings, bench.broker.now, ("elsewhere",))
        found += [message.message_id for message in bench.inbox.shards.ask(shard, request).to_send]
    return found


def test_a_crash_between_intent_and_outcome_is_visible_and_the_call_is_made_again(bench: Bench) -> None:
    send(bench, "m-1")
    assert intended(bench) == ["m-1"]
    assert bench.row("m-1").state == "uncertain"
    bench.run(after_s=299)
    assert bench.target.calls == []
    bench.run(after_s=1)
    row = bench.row("m-1")
    assert (row.state, row.attempts, row.error_kind) == ("waiting", 1, "target_error")
    assert bench.run(after_s=60).correlated == 1
    assert bench.target.calls == ["m-1"]


def test_a_call_that_must_not_be_made_twice_is_left_to_a_person(make: Make) -> None:
    bench = make(preset(on_uncertain="hold"))
    send(bench, "m-1")
    intended(bench)
    bench.run(after_s=300)
    assert (bench.row("m-1").state, bench.row("m-1").parked_for) == ("parked", "held")


def test_those_behind_an_uncertain_message_wait_for_it(bench: Bench) -> None:
    send(bench, "m-1")
    intended(bench)
    send(bench, "m-2")
    assert bench.run(after_s=60).correlated == 0
    bench.run(after_s=240)
    bench.run(after_s=60)
    assert bench.target.calls == ["m-1", "m-2"]


def test_an_answer_that_comes_after_the_lapse_is_booked_all_the_same(single: Make) -> None:
    bench = single()
    send(bench, "m-1")
    intended(bench)
    bench.run(after_s=300)
    book = InboxBook([(bench.row("m-1").key, Delivered(), "asked")], bench.settings, bench.broker.now)
    bench.inbox.shards.ask(0, book)
    assert bench.row("m-1").state == "done"
    assert bench.run(after_s=600).correlated == 0


@pytest.mark.parametrize(
    ("outcome", "state", "attempts", "counted"),
    [
        (NO, "waiting", 1, "target_error"),
        (Failed(MAPPING_ERROR, "no hint", retryable=False), "parked", 1, "mapping_error"),
        (Unanswered("connection lost"), "waiting", 1, "target_error"),
        (RuntimeError("a mistake of the target's author"), "waiting", 1, "target_error"),
        (Delivered("refused", "duplicate_id"), "done", 0, "correlated"),
    ],
)
def test_what_a_target_says_is_booked(
    single: Make, outcome: Outcome | Exception, state: str, attempts: int, counted: str
) -> None:
    bench = single()
    bench.target.says["m-1"] = outcome
    send(bench, "m-1")
    send(bench, "m-2", key="o-2")
    counts = bench.run()
    assert (bench.row("m-1").state, bench.row("m-1").attempts) == (state, attempts)
    assert bench.row("m-2").state == "done"
    assert getattr(counts, counted) == (2 if counted == "correlated" else 1)


@pytest.mark.parametrize(("mode", "calls"), [("fail_first", ["m-1", "m-2"]), ("all", ["m-1", "m-2", "m-3"])])
def test_the_mode_holds_for_remote_systems_too(make: Make, mode: str, calls: list[str]) -> None:
    bench = make(preset(mode=mode))
    bench.target.says["m-2"] = NO
    for number in (1, 2, 3):
        send(bench, f"m-{number}")
    bench.run()
    assert bench.target.calls == calls


@pytest.mark.parametrize("mode", ["fail_first", "all"])
@pytest.mark.parametrize(("size", "runs"), [(1, [1, 1, 1]), (2, [2, 1]), (-1, [3])])
def test_a_batch_has_its_size(single: Make, mode: str, size: int, runs: list[int]) -> None:
    bench = single(preset(mode=mode, batch_size=size))
    for number in (1, 2, 3):
        send(bench, f"m-{number}")
    assert [bench.run(after_s=6).correlated for _ in runs] == runs
    assert bench.target.calls == ["m-1", "m-2", "m-3"]


def test_a_target_that_is_not_configured_here_burns_no_attempts(bench: Bench) -> None:
    bench.targets = {}
    bench.configure(bench.settings)
    send(bench, "m-1")
    bench.run()
    bench.targets = {"another": bench.target}
    bench.configure(bench.settings)
    bench.run(after_s=6)
    assert (bench.row("m-1").state, bench.row("m-1").attempts) == ("waiting", 0)
    bench.targets = {"elsewhere": bench.target}
    bench.configure(bench.settings)
    assert bench.run(after_s=6).correlated == 1


def test_calls_are_made_side_by_side_up_to_a_limit(bench: Bench) -> None:
    under_way, most, turn = 0, 0, Lock()

    class Counting:
        def deliver(self, message: InboxMessage) -> Outcome:
            nonlocal under_way, most
            with turn:
                under_way += 1
                most = max(most, under_way)
            with turn:
                under_way -= 1
            return Delivered()

    bench.targets = {"elsewhere": Counting()}
    bench.configure(bench.settings)
    for number in range(200):
        send(bench, f"m-{number}", key=f"o-{number}")
    assert bench.run().correlated == 200
    assert 1 <= most <= IN_FLIGHT


def test_a_remote_message_lives_with_its_group(bench: Bench) -> None:
    shards = bench.broker.shard_count
    for number in range(20):
        send(bench, f"m-{number}", key=f"o-{number % 5}")
    for shard in range(shards):
        with bench.broker.post.look(shard) as snapshot:
            for row in snapshot.inbox_rows([row.key for row in bench.rows()]):
                assert shard_of(row.group_key, shards) == shard


def test_the_same_key_for_our_engine_and_for_another_are_two_groups(bench: Bench) -> None:
    bench.target.says["m-1"] = NO
    bench.send("o-1", "m-1", REMOTE)
    bench.wait("o-1")
    bench.send("o-1", "m-2")
    bench.run()
    assert bench.states() == {"m-1": "waiting", "m-2": "done"}


def test_who_has_lost_the_lease_makes_no_more_calls(single: Make) -> None:
    bench = single()
    for number in range(3):
        send(bench, f"m-{number}", key=f"o-{number}")
    assert bench.inbox.run(lambda: False).correlated == 0
    assert bench.target.calls == []

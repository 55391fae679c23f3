"""Runs against our own engine: what is due is tried, in order, and booked in the commit of its correlation."""

import pytest

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.message import Hint
from conjoin.runtime.inbox.requests import InboxRun
from conjoin.runtime.run.log import read_block
from conjoin.store import tables as t
from tests.bpmn.snippets import END, PAID, catch, model, service
from tests.runtime.inbox.bench import Bench, preset
from tests.runtime.inbox.conftest import Make

STARTED = model(
    '<startEvent id="begin"><messageEventDefinition messageRef="paid_message"/></startEvent>\n' + service("ship") + END,
    "begin>ship ship>end",
    PAID,
).replace(b'id="order"', b'id="started"')
OTHER = model('<startEvent id="begin"/>\n' + catch("paid") + END, "begin>paid paid>end", PAID).replace(
    b'id="order"', b'id="other"'
)
HOUR_S = 3_600


def instances(bench: Bench, state: str = "active") -> int:
    return len(list(bench.broker.store.rows(t.INSTANCE, {"state": state}, None, 10_000)))


def test_a_message_that_somebody_waits_for_is_taken_and_done(bench: Bench) -> None:
    [instance] = bench.wait("o-1")
    bench.send("o-1", "m-1", payload={"amount": 5})
    counts = bench.run()
    assert (counts.correlated, counts.retried) == (1, 0)
    row = bench.row("m-1")
    assert (row.state, row.verdict, row.reason, row.taken_by) == (
        *("done", "correlated", "waiting_instance"),
        str(instance),
    )
    assert instances(bench, "completed") == 1
    assert bench.groups() == {}


def test_correlation_and_booking_are_one_commit(single: Make) -> None:
    bench = single()
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    before = bench.broker.store.shard(0).begin()
    before.abandon()
    bench.run()
    [commit] = [
        row
        for row in bench.broker.store.shard(0).log(before.head.version)
        if any(event.kind == "MessageCorrelated" for entry in read_block(row.block) for event in entry.events)
    ]
    after = bench.broker.store.shard(0).begin()
    after.abandon()
    # The rules were noted by the first commit of the run, and nothing was written after the correlation.
    assert commit.version == after.head.version == before.head.version + 2


def test_a_run_with_nothing_due_writes_nothing(bench: Bench) -> None:
    bench.send("o-1", "m-1")
    bench.run()
    heads = [snapshot_head(bench, shard) for shard in range(bench.broker.shard_count)]
    assert bench.run(after_s=6) == type(bench.run())()
    assert [snapshot_head(bench, shard) for shard in range(bench.broker.shard_count)] == heads


def snapshot_head(bench: Bench, shard: int) -> object:
    with bench.broker.post.look(shard) as snapshot:
        return snapshot.head


def test_a_message_that_nobody_waits_for_is_tried_again_after_its_back_off(bench: Bench) -> None:
    bench.send("o-1", "m-1")
    assert bench.run().target_error == 1
    row = bench.row("m-1")
    assert (row.state, row.attempts, row.next_retry_at) == ("waiting", 1, bench.broker.now + 60_000_000)
    assert "nobody waited for 'paid' with key 'o-1'" in row.error_text
    bench.wait("o-1")
    assert bench.run(after_s=59).correlated == 0
    counts = bench.run(after_s=1)
    assert (counts.correlated, counts.retried) == (1, 1)


def test_several_who_wait_are_an_error_whatever_the_profile_of_the_store(bench: Bench) -> None:
    first, second = bench.wait("o-1", "o-1")
    bench.send("o-1", "m-1")
    assert bench.run().target_error == 1
    assert f"2 could take 'paid' with key 'o-1' and exactly one may: {first}, {second}" in bench.row("m-1").error_text
    bench.broker.cancel_instance(first)
    assert bench.run(after_s=60).correlated == 1


def test_the_policies_of_a_name_are_those_of_its_own_over_the_profile_of_the_inbox(bench: Bench) -> None:
    bench.broker.catalog.set_policy("paid", {"cardinality": "all"}, 0)
    bench.wait("o-1", "o-1")
    bench.send("o-1", "m-1")
    assert bench.run().correlated == 1
    assert instances(bench, "completed") == 2


def test_a_client_still_finds_the_policies_of_the_store(bench: Bench) -> None:
    bench.wait("o-1", "o-1")
    bench.send("o-1", "m-1")
    bench.run()
    from conjoin.runtime.client_api.messages import NewMessage

    bench.broker.publish(NewMessage("paid", "o-1", {}, 0))
    assert instances(bench, "completed") == 1


def test_where_the_policy_says_buffer_a_message_is_published_and_kept(bench: Bench) -> None:
    bench.broker.catalog.set_policy("paid", {"on_no_match": "buffer"}, 0)
    bench.send("o-1", "m-1", headers=[("X-CORRELATE-Expiration", "2030-01-01T01:00:00Z")])
    assert bench.run().correlated == 1
    row = bench.row("m-1")
    assert (row.state, row.verdict, row.reason) == ("done", "buffered", "handed_over")
    [message] = bench.broker.store.rows(t.MESSAGE, {}, None, 9)
    assert message.deadline == bench.broker.now + HOUR_S * 1_000_000
    assert row.taken_by == f"message {message.key}"
    bench.wait("o-1")
    assert instances(bench, "completed") == 1


def test_where_the_policy_says_discard_nobody_tries_again(bench: Bench) -> None:
    bench.broker.catalog.set_policy("paid", {"on_no_match": "discard"}, 0)
    bench.send("o-1", "m-1")
    bench.run()
    assert (bench.row("m-1").verdict, bench.row("m-1").reason) == ("discarded", "policy")


def test_what_was_buffered_for_the_inbox_keeps_its_policies_in_later_runs(bench: Bench) -> None:
    """Exactly one takes it, though the store's own profile gives it to one of each process."""
    bench.broker.catalog.set_policy("paid", {"on_no_match": "buffer"}, 0)
    bench.broker.deploy([("other.bpmn", OTHER)])
    bench.send("o-1", "m-1")
    bench.run()
    bench.wait("o-1")
    bench.broker.create_instance("other", {"orderId": "o-1"})
    assert (instances(bench, "completed"), instances(bench)) == (1, 1)


def test_a_message_may_start_an_instance(bench: Bench) -> None:
    bench.broker.deploy([("started.bpmn", STARTED)])
    bench.send("o-1", "m-1")
    bench.send("o-1", "m-2")
    assert bench.run().correlated == 2
    assert bench.row("m-1").reason == "started_instance"
    assert len(bench.broker.activate_jobs("ship", 10)) == 2


@pytest.mark.parametrize(
    ("about", "kind", "text"),
    [
        ({"payload": b"{"}, "decode_error", "the payload is not JSON"),
        ({"payload": b"[1]"}, "decode_error", "the payload is not an object"),
        ({"payload": b"\xff"}, "decode_error", "the payload is not JSON"),
        ({"headers": [("X-CORRELATE-Payload-Encoding", "avro")]}, "decode_error", "'avro'"),
        ({"hint": Hint("paid", "o-1", business_key="b" * 300)}, "mapping_error", "business id is longer"),
    ],
)
def test_errors_before_the_target_are_told_apart_and_wait_for_their_back_off(
    single: Make, about: dict[str, object], kind: str, text: str
) -> None:
    bench = single()
    bench.wait("o-1", "o-2")
    bench.send("" if "hint" in about else "o-1", "m-1", **about)
    bench.send("o-2", "m-2")
    counts = bench.run()
    assert (getattr(counts, kind), counts.correlated) == (1, 1)
    row = bench.row("m-1")
    assert (row.error_kind, row.attempts, row.state) == (kind, 1, "waiting")
    assert text in row.error_text
    assert bench.run(after_s=59) == type(counts)()


def test_variables_of_the_hint_stand_over_the_payload(single: Make) -> None:
    bench = single()
    bench.broker.deploy([("started.bpmn", STARTED)])
    bench.send("", "m-1", hint=Hint("paid", "o-1", {"n": 1}), payload={"n": 2})
    bench.send("", "m-2", hint=Hint("paid", "o-2"), payload={"n": 3})
    bench.run()
    assert [job.variables["n"] for job in bench.broker.activate_jobs("ship", 2)] == [1, 3]


@pytest.mark.parametrize(
    ("name", "changes", "expected"),
    [
        ("correlate-docs", {}, [6, 12, 72, 192, 432, 600]),
        ("correlate-code", {}, [6, 12, 132, 372, 852, 1452, 2052]),
        ("conjoin", {}, [6, 12, 72, 192, 432, 912]),
        ("conjoin", {"grace": None}, [6, 66, 186, 426, 906]),
        ("conjoin", {"max_attempts": 2}, [6, 12, 72]),
        ("conjoin", {"backoff_base": 1.0, "max_attempts": 3}, [6, 12, 72, 132]),
        ("conjoin", {"backoff_unit": 6_000, "max_attempts": 3}, [6, 12, 18, 30]),
        ("conjoin", {"backoff_cap": 61_000, "max_attempts": 4}, [6, 12, 72, 138, 204]),
        ("conjoin", {"max_rule": "exceeded", "max_attempts": 1}, [6, 12, 72]),
    ],
)
def test_the_schedule_tries_when_the_tables_say(
    single: Make, name: str, changes: dict[str, object], expected: list[int]
) -> None:
    """Poll every 6 s, grace 10 s, base 2, cap 10 min, maximum 5."""
    table = {"backoff_base": 2.0, "backoff_cap": 600_000, "max_attempts": 5, "grace": 10_000}
    bench = single(preset(name, **table | changes))
    bench.send("o-1", "m-1")
    assert bench.polls(2_400) == expected
    assert bench.row("m-1").state == "parked"


@pytest.mark.parametrize(("mode", "done"), [("fail_first", ["m-1"]), ("all", ["m-1", "m-3", "m-4"])])
def test_the_mode_says_what_an_error_means_for_those_behind_it(make: Make, mode: str, done: list[str]) -> None:
    bench = make(preset(mode=mode))
    for number in range(1, 5):
        payload = b"{" if number == 2 else b"{}"
        bench.send("o-1", f"m-{number}", payload=payload)
        bench.wait("o-1") if number == 1 else None
    tried = set(done) | {"m-2"}
    bench.broker.deploy([("started.bpmn", STARTED)])
    bench.run()
    states = bench.states()
    assert [id_ for id_ in sorted(states) if states[id_] == "done"] == done
    assert {row.message_id for row in bench.rows() if row.tried_at is not None} == tried


@pytest.mark.parametrize(("gate", "tried"), [("own", ["m-2", "m-3"]), ("strict", [])])
def test_the_gate_says_whom_an_error_that_is_not_due_holds_back(make: Make, gate: str, tried: list[str]) -> None:
    bench = make(preset(mode="all", group_gate=gate))
    bench.send("o-1", "m-1")
    bench.run()
    bench.broker.deploy([("started.bpmn", STARTED)])
    bench.send("o-1", "m-2")
    bench.send("o-1", "m-3")
    bench.run(after_s=30)
    states = bench.states()
    assert [id_ for id_ in sorted(states) if states[id_] == "done"] == tried
    bench.run(after_s=30)
    assert set(bench.states().values()) == {"done"}


@pytest.mark.parametrize(("size", "runs"), [(-1, [5]), (1, [1, 1, 1, 1, 1]), (2, [2, 2, 1]), (0, [0, 0])])
def test_a_batch_has_its_size(make: Make, size: int, runs: list[int]) -> None:
    bench = make(preset(batch_size=size))
    bench.broker.deploy([("started.bpmn", STARTED)])
    for number in range(5):
        bench.send("o-1", f"m-{number}")
    assert [bench.run(after_s=6).correlated for _ in runs] == runs


@pytest.mark.parametrize("mode", ["all", "fail_first"])
def test_a_group_that_is_larger_than_a_commit_is_tried_in_order_in_one_run(single: Make, mode: str) -> None:
    bench = single(preset(mode=mode))
    bench.broker.deploy([("started.bpmn", STARTED)])
    bench.inbox._runner.at_once = 7
    arrivals = [bench.arrival("o-1", f"m-{n:03}", payload={"n": n}) for n in range(100)]
    bench.send_many(reversed(arrivals))
    assert bench.run().correlated == 100
    assert [job.variables["n"] for job in bench.broker.activate_jobs("ship", 100)] == list(range(100))


@pytest.mark.parametrize(("blocks", "state"), [(False, "done"), (True, "waiting")])
def test_a_parked_message_blocks_its_group_only_if_the_policy_says_so(make: Make, blocks: bool, state: str) -> None:
    bench = make(preset(max_attempts=1, exhausted_blocks=blocks))
    bench.send("o-1", "m-1")
    bench.run()
    assert bench.row("m-1").parked_for == "attempts_exhausted"
    bench.wait("o-1")
    bench.send("o-1", "m-2")
    bench.run(after_s=6)
    assert bench.row("m-2").state == state


def test_errors_in_the_grace_time_are_neither_counted_nor_noted(make: Make) -> None:
    bench = make(preset(grace=10_000))
    bench.send("o-1", "m-1")
    for _ in range(2):
        assert bench.run().target_error == 1
        bench.clock.advance_ms(4_000)
    row = bench.row("m-1")
    assert (row.attempts, row.error_text, row.lines) == (0, "", 0)
    bench.run(after_s=2)
    assert bench.row("m-1").attempts == 1


@pytest.mark.parametrize("settings", [InboxSettings(), preset(mode="all")], ids=["fail_first", "all"])
def test_the_order_is_that_of_the_events_not_of_the_arrivals(make: Make, settings: InboxSettings) -> None:
    bench = make(settings)
    bench.broker.deploy([("started.bpmn", STARTED)])
    for number in (3, 1, 2):
        header = ("X-CORRELATE-Timestamp", f"2029-12-31T00:0{number}:00Z")
        bench.send("o-1", f"m-{number}", headers=[header], payload={"n": number})
    bench.run()
    assert [job.variables["n"] for job in bench.broker.activate_jobs("ship", 3)] == [1, 2, 3]


def test_error_texts_are_cut_to_their_limit(single: Make) -> None:
    bench = single(preset(error_text_max=20))
    bench.send("o-1", "m-1")
    bench.run()
    assert len(bench.row("m-1").error_text) == len(bench.history("m-1")[0].answered) == 20


def test_every_attempt_leaves_a_line_with_what_was_asked_and_answered(bench: Bench) -> None:
    bench.send("o-1", "m-1")
    bench.run()
    [instance] = bench.wait("o-1")
    bench.run(after_s=60)
    failed, taken = bench.history("m-1")
    assert (failed.kind, failed.verdict, failed.reason) == ("attempt", "failed", "target_error")
    assert failed.asked == '{"name":"paid","correlation_key":"o-1","message_id":"m-1"}'
    assert "nobody waited" in failed.answered
    assert (taken.verdict, taken.reason, taken.answered) == ("correlated", "waiting_instance", str(instance))
    assert taken.at - failed.at == 60_000_000


def test_two_requests_of_one_commit_do_not_try_a_message_twice(single: Make) -> None:
    from conjoin.runtime.run.batches import Batch

    bench = single()
    bench.send("o-1", "m-1")
    request = InboxRun(bench.settings, bench.broker.now)
    done = bench.broker.post.run(0, Batch([request, request]))
    assert [reply.inbox.counts.target_error for reply in done.replies] == [1, 0]
    assert bench.row("m-1").attempts == 1

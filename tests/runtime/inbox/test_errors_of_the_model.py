"""What goes wrong in the model that this inbox follows, and does not here, from arrival to row: one test each."""

import pytest

from conjoin.kernel.inbox.due import CLEANUP
from conjoin.kernel.inbox.message import Hint
from conjoin.kernel.inbox.operations import Pause
from conjoin.kernel.inbox.outcomes import Delivered
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.schedule import InboxSchedule
from tests.runtime.inbox.bench import CHANNELS, REMOTE, Bench, preset
from tests.runtime.inbox.conftest import Make

PRESETS = ["conjoin", "correlate-docs", "correlate-code"]
MODES = ["all", "fail_first"]


@pytest.mark.parametrize("name", PRESETS)
def test_newer_messages_are_not_starved_behind_the_first_page(make: Make, name: str) -> None:
    bench = make(preset(name, page_size=3, max_attempts=1))
    bench.send_many([bench.arrival(f"stuck-{n}") for n in range(20)])
    bench.run()
    bench.send_many([bench.arrival(f"late-{n}") for n in range(20)])
    bench.wait("o-1")
    bench.send("o-1", "wanted")
    assert bench.run(after_s=6).correlated == 1
    assert bench.row("wanted").state == "done"


@pytest.mark.parametrize("mode", MODES)
def test_one_unreadable_payload_does_not_stop_the_others(make: Make, mode: str) -> None:
    bench = make(preset(mode=mode))
    bench.wait("o-2", "o-3")
    bench.send("o-1", "m-1", payload=b"{")
    bench.send("o-2", "m-2")
    bench.send("o-3", "m-3")
    counts = bench.run()
    assert (counts.decode_error, counts.correlated) == (1, 2)


def test_decode_errors_wait_for_their_back_off_like_all_others(single: Make) -> None:
    bench = single(preset(max_attempts=3))
    bench.send("o-1", "m-1", payload=b"{")
    assert bench.polls(600) == [6, 66, 186]
    assert bench.row("m-1").state == "parked"


@pytest.mark.parametrize("name", ["conjoin", "correlate-code"])
def test_a_group_is_not_blocked_for_ever_by_an_exhausted_message(make: Make, name: str) -> None:
    bench = make(preset(name, max_attempts=1, max_rule="reached"))
    bench.send("o-1", "m-1", payload=b"{")
    bench.run()
    bench.wait("o-1")
    bench.send("o-1", "m-2")
    bench.run(after_s=6)
    assert bench.states() == {"m-1": "parked", "m-2": "done"}


def test_a_pause_has_effect_before_the_first_attempt(bench: Bench) -> None:
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    bench.operate("m-1", Pause())
    bench.run()
    assert (bench.row("m-1").state, bench.row("m-1").attempts) == ("paused", 0)


@pytest.mark.parametrize("mode", MODES)
def test_the_oldest_comes_first(make: Make, mode: str) -> None:
    bench = make(preset(mode=mode))
    for number in (3, 2, 1):
        headers = [("X-CORRELATE-Timestamp", f"2029-01-0{number}T00:00:00Z")]
        bench.send("", f"m-{number}", REMOTE, hint=Hint("paid", business_key="b"), headers=headers)
    bench.target.says["m-1"] = Delivered()
    bench.run()
    assert bench.target.calls == ["m-1", "m-2", "m-3"]


def test_a_duplicate_is_acknowledged_and_raises_nothing(bench: Bench) -> None:
    arrivals = [bench.arrival("o-1", "m-1") for _ in range(2)]
    counts = bench.send_many(arrivals) + bench.send_many(arrivals)
    assert (counts.accepted, counts.persisted, counts.duplicate, counts.dead_lettered) == (4, 1, 3, 0)


def test_an_expiration_is_honoured_for_messages_that_never_failed(bench: Bench) -> None:
    bench.send("o-1", "m-1", headers=[("X-CORRELATE-Expiration", "2030-01-01T00:00:10Z")])
    bench.wait("o-1")
    assert bench.run(after_s=10).correlated == 0
    assert bench.row("m-1").state == "expired"


@pytest.mark.parametrize("gate", ["own", "strict"])
def test_hints_with_only_a_business_key_are_not_one_group(make: Make, gate: str) -> None:
    bench = make(preset(group_gate=gate))
    for number in range(5):
        bench.send("", f"m-{number}", REMOTE, hint=Hint("paid", business_key=f"order-{number}"))
    bench.target.says["m-0"] = RuntimeError("no")
    bench.run()
    assert [bench.row(f"m-{number}").state for number in range(5)] == ["waiting", *["done"] * 4]


def test_cleanup_runs_on_one_of_several_servers(make: Make) -> None:
    bench = make()
    servers = [InboxSchedule(Inbox(bench.broker, bench.settings, CHANNELS), f"s-{n}", bench.clock) for n in range(3)]
    done = []
    for _ in range(300):
        bench.clock.advance_ms(1_000)
        done += [number for number, server in enumerate(servers) if CLEANUP in server.step()]
    assert done == [0] * 5

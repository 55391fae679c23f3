"""The schedule: when runs and cleanups come, and that one server at a time does them."""

import pytest

from conjoin.kernel.inbox import InboxSettings
from conjoin.kernel.inbox.due import CLEANUP, RUN
from conjoin.kernel.instants import NEVER
from conjoin.runtime.inbox.inbox import Inbox
from conjoin.runtime.inbox.metrics import Counts
from conjoin.runtime.inbox.schedule import HeldLease, InboxSchedule
from conjoin.runtime.upkeep.supervision import Repeating
from conjoin.testing.clock import FakeClock
from tests.runtime.inbox.bench import CHANNELS, Bench, preset
from tests.runtime.inbox.conftest import Make


def schedule(bench: Bench, holder: str = "one", lease_clock: FakeClock | None = None) -> InboxSchedule:
    inbox = Inbox(bench.broker, bench.settings, CHANNELS, bench.targets)
    return InboxSchedule(inbox, holder, lease_clock or bench.clock)


def steps(bench: Bench, of: InboxSchedule, seconds: int) -> list[tuple[int, str]]:
    """What was done, second by second."""
    done = []
    for second in range(1, seconds + 1):
        bench.clock.advance_ms(1_000)
        done += [(second, job) for job in of.step()]
    return done


def test_runs_and_cleanups_come_after_their_delays_and_in_their_intervals(make: Make) -> None:
    bench = make(
        preset(poll_interval=20_000, poll_initial_delay=10_000, cleanup_interval=30_000, cleanup_initial_delay=5_000)
    )
    assert steps(bench, schedule(bench), 70) == [
        *[(5, CLEANUP), (10, RUN), (30, RUN), (35, CLEANUP), (50, RUN), (65, CLEANUP), (70, RUN)],
    ]


def test_interval_is_the_delay_from_the_end_of_a_run_to_the_next(single: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = single()
    its = schedule(bench)
    began: list[int] = []

    def slow_run(self: Inbox, is_ours: object) -> Counts:
        began.append(bench.clock() // 1_000_000)
        bench.clock.advance_ms(4_000)
        return Counts()

    monkeypatch.setattr(Inbox, "run", slow_run)
    start = bench.clock() // 1_000_000
    while len(began) < 3:
        bench.clock.advance_ms(1_000)
        its.step()
    assert [second - start for second in began] == [10, 20, 30]


def test_run_that_fails_is_not_repeated_before_its_interval(single: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = single()
    its = schedule(bench)

    def failing_run(self: Inbox, is_ours: object) -> Counts:
        raise OSError("the disk is gone")

    monkeypatch.setattr(Inbox, "run", failing_run)
    bench.clock.advance_ms(10_000)
    with pytest.raises(OSError, match="disk"):
        its.step()
    assert its.next_at() == bench.broker.now + 6_000_000


def test_a_schedule_that_is_disabled_does_nothing(single: Make) -> None:
    bench = single(preset(enabled=False))
    assert steps(bench, schedule(bench), 100) == []
    assert schedule(bench).next_at() == NEVER


def test_the_next_step_is_told(single: Make) -> None:
    bench = single()
    its = schedule(bench)
    assert its.next_at() == bench.broker.now + 10_000_000
    steps(bench, its, 10)
    assert its.next_at() == bench.broker.now + 6_000_000


def test_one_of_two_servers_is_active(make: Make) -> None:
    bench = make()
    servers = [schedule(bench, name) for name in ("one", "two")]
    done = []
    for second in range(1, 200):
        bench.clock.advance_ms(1_000)
        done += [(second, number, job) for number, server in enumerate(servers) for job in server.step()]
    assert {number for _, number, _ in done} == {0}
    assert [job for _, _, job in done].count(CLEANUP) == 3


def test_another_server_takes_over_when_the_first_is_gone(make: Make) -> None:
    bench = make()
    one, two = schedule(bench, "one"), schedule(bench, "two")
    assert steps(bench, one, 10) == [(10, RUN)]
    # It is refused at first, and asks again when the lease of the first is over.
    assert [second for second, job in steps(bench, two, 12) if job == RUN] == [7]


def test_a_server_that_dies_in_a_run_is_replaced_when_its_lease_is_over(single: Make) -> None:
    bench = single(preset(lock_at_most=60_000))
    its = schedule(bench, "two")
    bench.broker.store.catalog.lease(RUN, "dead", bench.clock(), bench.clock() + 60_000_000)
    runs = [second for second, job in steps(bench, its, 90) if job == RUN]
    assert 60 <= runs[0] <= 66


def test_without_a_cluster_nobody_is_asked(single: Make) -> None:
    bench = single(preset(cluster=False))
    bench.broker.store.catalog.lease(RUN, "another", bench.clock(), bench.clock() + 10**10)
    assert steps(bench, schedule(bench), 10) == [(10, RUN)]


def lease(bench: Bench, settings: InboxSettings, holder: str = "one") -> HeldLease:
    return HeldLease(bench.broker.store.catalog, bench.clock, holder, settings, RUN)


def test_a_long_run_renews_its_lease_and_a_late_one_has_lost_it(make: Make) -> None:
    bench = make(preset(lock_at_most=10_000))
    ours = lease(bench, bench.settings)
    for _ in range(5):
        assert ours.is_ours()
        bench.clock.advance_ms(6_000)
    bench.clock.advance_ms(10_000)
    theirs = lease(bench, bench.settings, "two")
    assert theirs.is_ours()
    assert not ours.is_ours()


def test_a_run_that_has_lost_its_lease_stops_before_the_next_commit(single: Make) -> None:
    bench = single()
    bench.wait(*(f"o-{n}" for n in range(3)))
    for number in range(3):
        bench.send(f"o-{number}")
    asked = iter([True, False])
    assert bench.inbox.run(lambda: next(asked, False)).correlated == 0
    assert bench.run().correlated == 3


def test_a_lease_is_in_the_time_of_the_store(bench: Bench) -> None:
    """The clocks of the servers may differ as they like."""
    its = InboxSchedule(bench.inbox, "one")
    bench.clock.advance_ms(10_000)
    assert its.step() == [RUN]
    now = bench.broker.store.catalog.now()
    assert not bench.broker.store.catalog.lease(RUN, "two", now, now + 1)
    assert bench.broker.store.catalog.lease(RUN, "two", now + 7_000_000, now + 8_000_000)


def test_a_thread_runs_the_schedule_until_it_is_stopped(single: Make) -> None:
    bench = single(preset(poll_initial_delay=0))
    bench.wait("o-1")
    bench.send("o-1", "m-1")
    its = schedule(bench)
    thread = Repeating("inbox", its.step, 0.001)
    thread.start()
    while its.counts.correlated == 0:
        thread.join(0.001)
    thread.stop()
    assert (thread.failed, bench.row("m-1").state) == (None, "done")


@pytest.mark.parametrize("job", [RUN, CLEANUP])
def test_each_job_has_a_lease_of_its_own(single: Make, job: str) -> None:
    bench = single(preset(cleanup_initial_delay=10_000))
    bench.broker.store.catalog.lease(job, "another", bench.clock(), bench.clock() + 10**10)
    assert steps(bench, schedule(bench), 10) == [(10, CLEANUP if job == RUN else RUN)]

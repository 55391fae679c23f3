"""Whatever is raised beside the requests is logged, counted and reported, and nothing ends by it."""

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, Event

import pytest

from conjoin import fault_points
from conjoin.errors import OutcomeUnknown
from conjoin.runtime.broker import Broker
from conjoin.runtime.client_api.answers import PublishedMessage
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.opening import temporary_broker
from conjoin.runtime.run.batches import Commit
from conjoin.runtime.run.carriers.shard_threads import ShardThreads, shard_threads
from conjoin.runtime.upkeep.supervision import LATE_S, LONGEST_PAUSE_S, Repeating, SupervisedJob, Supervisor

WAIT_S = 30


class Time:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = temporary_broker(2)
    yield broker
    fault_points.disarm()
    broker.close()


def raised(text: str = "no") -> Exception:
    try:
        raise OverflowError(text)
    except OverflowError as error:
        return error


def test_a_failing_job_pauses_longer_and_longer_and_is_well_after_a_success() -> None:
    job = SupervisedJob("sweep", every_s=0.5, critical=True)
    pauses = []
    for _ in range(12):
        job.failed(raised())
        pauses.append(job.pause_s)
    assert pauses[0] == 0.5
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE_S
    job.succeeded()
    assert (job.pause_s, job.report().state, job.report().failures) == (0.5, "ok", 12)


def test_a_failure_that_repeats_is_logged_at_growing_intervals(caplog: pytest.LogCaptureFixture) -> None:
    job = SupervisedJob("sweep", every_s=0.5, critical=True)
    job.doing = "sweeping timers"
    error = raised("too large")
    with caplog.at_level(logging.ERROR):
        for _ in range(1_000):
            job.failed(error)
    assert len(caplog.records) == 10
    assert caplog.messages[0] == "sweep failed while sweeping timers: OverflowError: too large"
    assert caplog.records[0].exc_info
    assert caplog.messages[1].startswith("sweep failed 2 times while")


def test_a_job_that_has_not_succeeded_for_long_is_down_and_recovers() -> None:
    time = Time()
    job = Supervisor(time).job("sweep-0", every_s=0.5, critical=True)
    time.now += LATE_S
    assert job.report().state == "ok"
    time.now += 1
    report = job.report()
    assert (report.state, round(report.late_s, 1)) == ("down", LATE_S + 0.5)
    job.succeeded()
    assert job.report().state == "ok"


def test_a_job_that_fails_again_and_again_is_down_before_it_is_late() -> None:
    job = Supervisor(Time()).job("sweep-0", every_s=0.5, critical=True)
    states = []
    for _ in range(3):
        job.failed(raised())
        states.append(job.report().state)
    assert states == ["failing", "failing", "down"]
    job.succeeded()
    assert job.report().state == "ok"


def test_a_shard_that_is_busy_with_one_thing_for_long_is_down() -> None:
    time = Time()
    job = Supervisor(time).job("shard-0", critical=True)
    time.now += 1_000
    assert job.report().state == "ok"
    with job.working("carrying out 1 requests"):
        time.now += LATE_S + 1
        assert (job.report().state, job.report().doing) == ("down", "carrying out 1 requests")
    assert job.report().state == "ok"


def test_a_thread_goes_on_whatever_its_round_raises() -> None:
    rounds, enough = [ValueError("a"), SystemExit(1), KeyError("b"), MemoryError()], Event()

    def step() -> None:
        if rounds:
            raise rounds.pop(0)
        enough.set()

    thread = Repeating("job", step, 0.001)
    thread.start()
    assert enough.wait(WAIT_S)
    assert thread.is_alive()
    assert thread.job.failures == 4
    thread.stop()
    assert not thread.is_alive()


def test_a_request_that_is_taken_back_while_it_is_carried_out_ends_no_thread(broker: Broker) -> None:
    with shard_threads(broker) as runner:
        at_work, go_on = Barrier(2), Event()

        def listener(done: Commit) -> None:
            at_work.wait(WAIT_S)
            go_on.wait(WAIT_S)

        runner.listener = listener
        future = runner.submit(0, NewMessage("paid", "o-1", ttl_ms=1_000))
        at_work.wait(WAIT_S)
        assert future.cancel()
        runner.listener = None
        go_on.set()
        assert runner.ask(0, NewMessage("paid", "o-2", ttl_ms=1_000), WAIT_S).key
        assert all(worker.is_alive() for worker in runner.workers)


def test_a_promise_and_a_listener_that_fail_keep_nobody_from_an_answer(broker: Broker) -> None:
    class Broken:
        def set_result(self, reply: object) -> None:
            raise KeyError("callback")

        set_exception = set_result

        def cancelled(self) -> bool:
            return False

    def listener(done: Commit) -> None:
        raise ZeroDivisionError

    with shard_threads(broker) as runner:
        runner.listener = listener
        runner.hand_in(0, [(NewMessage("paid", "o-1", ttl_ms=1_000), Broken())])
        assert runner.ask(0, NewMessage("paid", "o-2", ttl_ms=1_000), WAIT_S).key
        runner.deliver()
        assert all(worker.is_alive() for worker in runner.workers)


@pytest.mark.parametrize("point", ["begun", "decided", "written", "committed", "replying", "telling", "delivering"])
def test_an_error_at_any_point_of_a_shard_ends_no_thread(broker: Broker, point: str) -> None:
    def strike() -> None:
        raise RecursionError(point)

    with shard_threads(broker) as runner:
        fault_points.arm(point, 1, strike)
        try:
            broker.publish(NewMessage("paid", "o-1", ttl_ms=1_000))
        except RecursionError:
            assert point != "replying"
        runner.deliver()
        fault_points.disarm()
        assert isinstance(broker.publish(NewMessage("paid", "o-2", ttl_ms=1_000)), PublishedMessage)
        assert all(worker.is_alive() for worker in runner.workers)


def test_whoever_waits_for_a_shard_that_does_not_answer_is_told(broker: Broker) -> None:
    with shard_threads(broker) as runner:
        fault_points.arm("begun", 1, lambda: Event().wait(0.3) and None)
        with pytest.raises(OutcomeUnknown, match="shard 0 has not answered within"):
            runner.ask(0, NewMessage("paid", "o-1", ttl_ms=1_000), 0.01)


def test_a_request_that_cannot_be_carried_out_fails_alone(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    messages = [NewMessage("paid", f"o-{number}", {"n": number}, 1_000) for number in range(40)]
    poison = NewMessage("paid", "poison", {"n": 10**40}, 1_000)
    with shard_threads(broker) as runner:
        asked = _all_at_once(runner, [*messages[:20], poison, *messages[20:]], monkeypatch)
    failed = [number for number, answer in enumerate(asked) if isinstance(answer, Exception)]
    assert failed == [20]


def _all_at_once(runner: ShardThreads, requests: list[NewMessage], monkeypatch: pytest.MonkeyPatch) -> list[object]:
    from conjoin.runtime.run.working_set import working_set

    real = working_set.accepted

    def refusing(new: NewMessage, *rest: object) -> object:
        if new.key == "poison":
            raise OverflowError("too large")
        return real(new, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(working_set, "accepted", refusing)
    held = Event()
    runner.listener = lambda done: held.wait(WAIT_S) and None
    first = runner.submit(0, NewMessage("first", "k", ttl_ms=1_000))
    futures = [runner.submit(0, request) for request in requests]
    runner.listener = None
    held.set()
    first.result(WAIT_S)
    return [future.exception(WAIT_S) or future.result() for future in futures]


def test_keys_of_all_shards_follow_each_other_whoever_commits_at_once(broker: Broker) -> None:
    with shard_threads(broker) as runner, ThreadPoolExecutor(8) as threads:
        list(threads.map(runner.follow, range(10_000)))
        assert runner.counter == 9_999

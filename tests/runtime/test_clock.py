"""The clock: no jump of the wall clock stops, hurries or doubles anything; durations stay right."""

from random import Random

import pytest

from conjoin.runtime.client_api.answers import CreatedInstance
from conjoin.runtime.client_api.messages import NewMessage
from conjoin.runtime.clock import ForwardClock, SteadyClock
from conjoin.runtime.opening import temporary_broker
from conjoin.store import tables as t
from tests.bpmn.snippets import BEGIN, END, model

SECOND = 1_000_000
HOUR = 3_600 * SECOND
WAIT = (
    '<intermediateCatchEvent id="wait"><timerEventDefinition><timeDuration>PT2S</timeDuration>'
    "</timerEventDefinition></intermediateCatchEvent>"
)
TIMERS = model(BEGIN + WAIT + END, "begin>wait wait>end")


class Machine:
    """Its wall clock may be wrong."""

    def __init__(self) -> None:
        self.passed = 0
        self.wrong_by = 0

    def wall(self) -> int:
        return 1_900_000_000 * SECOND + self.passed + self.wrong_by

    def monotonic(self) -> int:
        return self.passed


@pytest.fixture
def machine() -> Machine:
    return Machine()


def test_it_is_the_wall_clock_as_long_as_that_goes_as_it_should(machine: Machine) -> None:
    clock = SteadyClock(machine.wall, machine.monotonic)
    for _ in range(10):
        machine.passed += 7 * SECOND
        assert clock() == machine.wall()
    assert clock.jumps == 0


@pytest.mark.parametrize("jump", [-HOUR, HOUR, 365 * 24 * HOUR])
def test_a_jump_is_noticed_and_durations_stay_right(
    machine: Machine, jump: int, caplog: pytest.LogCaptureFixture
) -> None:
    clock = SteadyClock(machine.wall, machine.monotonic)
    before = clock()
    machine.wrong_by = jump
    machine.passed += 10 * SECOND
    assert abs(clock() - before - 10 * SECOND) <= SECOND
    assert (clock.jumps, len(caplog.records)) == (1, 1)
    for _ in range(100):
        machine.passed += SECOND
        clock()
    assert clock.jumps == 1


def test_a_glitch_of_a_second_leaves_nothing_behind(machine: Machine) -> None:
    clock = SteadyClock(machine.wall, machine.monotonic)
    machine.wrong_by = HOUR
    machine.passed += SECOND
    clock()
    machine.wrong_by = 0
    for _ in range(4):
        machine.passed += SECOND
        clock()
    assert (clock(), clock.jumps) == (machine.wall(), 2)


def test_small_drift_is_made_up_for(machine: Machine) -> None:
    clock = SteadyClock(machine.wall, machine.monotonic)
    for _ in range(1_000):
        machine.passed += SECOND
        machine.wrong_by += 500
        clock()
    assert clock() == machine.wall()
    assert clock.jumps == 0


def test_it_never_goes_back_whatever_the_clocks_do(machine: Machine, seed: int) -> None:
    rng = Random(seed)
    clock = ForwardClock(SteadyClock(machine.wall, machine.monotonic))
    last = 0
    for _ in range(2_000):
        machine.passed += rng.choice([0, 1, 19, 1_000, SECOND])
        machine.wrong_by += rng.choice([0, 0, 0, rng.randint(-HOUR, HOUR)])
        if rng.random() < 0.05:
            assert clock.follow(last + rng.randint(0, HOUR)) >= last
        now = clock()
        assert now >= last
        last = now


def test_a_store_that_is_ahead_goes_on_at_the_pace_of_the_clock_and_is_caught_up_with(machine: Machine) -> None:
    clock = ForwardClock(machine.wall)
    ahead = machine.wall() + HOUR
    assert clock.follow(ahead) == ahead
    machine.passed += 10 * SECOND
    assert 9 * SECOND < clock() - ahead <= 10 * SECOND
    for _ in range(25 * 60):
        machine.passed += 60 * SECOND
        clock()
    assert (clock.ahead_us, clock()) == (0, machine.wall())


@pytest.mark.parametrize("jump", [-HOUR, HOUR])
def test_timers_and_deadlines_are_in_time_after_a_jump(machine: Machine, jump: int) -> None:
    """With the plain wall clock, as an earlier process may have had it: forward and right again, or back for good."""
    broker = temporary_broker(2, machine.wall)
    broker.deploy([("order.bpmn", TIMERS)])
    machine.wrong_by = max(jump, 0)
    broker.publish(NewMessage("first", "k", ttl_ms=1))
    machine.wrong_by = min(jump, 0)
    assert isinstance(broker.create_instance("order", {}), CreatedInstance)
    broker.publish(NewMessage("paid", "k", ttl_ms=1_000))
    broker.tick()
    machine.passed += 3 * SECOND
    broker.tick()
    assert list(broker.store.rows(t.INSTANCE, {"state": "active"}, None, 10)) == []
    assert [row.verdict for row in broker.store.rows(t.MESSAGE, {}, None, 10)] == ["expired", "expired"]
    broker.close()

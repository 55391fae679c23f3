"""What a crash left between two shards does not keep anybody waiting, and nobody is left without an answer."""

from contextlib import closing, nullcontext
from typing import Any

import pytest

from conjoin import fault_points
from conjoin.runtime.engine.placement import shard_of
from conjoin.runtime.opening import open_broker
from conjoin.runtime.run.carriers.shard_threads import shard_threads
from conjoin.testing.checking import HistoryFile, RequestMade, marked, read_history
from tests.faults.conftest import MakeRound
from tests.faults.places import Round
from tests.faults.processes import KILLED, Fault, arm_sleep, asleep, end, start, write
from tests.faults.story import HOUR_MS
from tests.faults.writer import Chapter, StoryClock, Writer

SHARDS = 3
ORDER = next(key for key in map("o-{}".format, range(50)) if shard_of(key, SHARDS) == 1)
PARCEL = next(key for key in map("p-{}".format, range(50)) if shard_of(key, SHARDS) == 0)

_KEYS = marked("create", {"orderId": ORDER, "parcelId": PARCEL})
CREATE = RequestMade("create", "create", {"process_id": "audit", "variables": _KEYS})
SHIPPED = RequestMade(
    "shipped", "publish", {"name": "shipped", "key": PARCEL, "ttl_ms": HOUR_MS, "variables": marked("shipped", {})}
)
PAID = RequestMade("paid", "publish", {"name": "paid", "key": ORDER, "ttl_ms": 0, "variables": marked("paid", {})})
PAID_NOW = RequestMade("paid_now", "correlate", {"name": "paid", "key": ORDER, "variables": marked("paid_now", {})})


def ask(chapter: Chapter, requests: list[RequestMade], fault: Fault | None = None) -> None:
    """Runs in a process of its own; with threads if the chapter has some."""
    if fault is not None:
        fault_points.arm(*fault)
    clock = StoryClock()
    with closing(HistoryFile(chapter.history)) as history, closing(open_broker(chapter.store, clock)) as broker:
        writer = Writer(broker, history)
        with shard_threads(broker) if chapter.threads else nullcontext():
            for asked in requests:
                writer.carry_out(asked)


def ask_and_wait(chapter: Chapter, fault: Fault, reached: Any, go_on: Any) -> None:
    """Runs in a process of its own, and sleeps at a point."""
    arm_sleep(fault, reached, go_on)
    ask(chapter, [PAID_NOW])


@pytest.fixture
def at(on_sqlite: MakeRound, seed: int) -> Round:
    """An instance has taken a message from another shard, and its answer still lies in the outbox of its own."""
    made = on_sqlite(f"{seed}/halfway", SHARDS)
    chapter = made.chapter(0, 0)
    assert end(start(ask, chapter, [CREATE, SHIPPED])) == 0
    assert end(start(ask, chapter, [PAID], Fault("delivered", 1))) == KILLED
    return made


def check_answer(at: Round) -> None:
    """The instance has had its message; there is nobody left for another one."""
    assert read_history(at.history).outcome_of("paid_now") == "refused"
    assert end(start(write, at.chapter(100, 10, ends=True))) == 0
    assert at.finding() == ("yes", "")


@pytest.mark.parametrize("threads", [0, 1])
def test_a_synchronous_message_that_meets_what_a_crash_left_is_answered(at: Round, threads: int) -> None:
    assert end(start(ask, at.chapter(0, 0, threads=threads), [PAID_NOW])) == 0
    check_answer(at)


@pytest.mark.parametrize("threads", [0, 1])
def test_a_synchronous_message_that_another_process_decides_is_answered(at: Round, threads: int) -> None:
    with asleep(at.chapter(0, 0, threads=threads), Fault("committed", 1), ask_and_wait) as sleeps:
        assert sleeps
        assert end(start(write, at.chapter(50, 0, ends=True))) == 0
    check_answer(at)

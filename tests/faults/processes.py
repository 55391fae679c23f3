"""Processes that die where they are told to. They are forked from a clean server that has everything loaded.

A process of the tests itself is not forked: it has threads, and connections that are nobody else's business.
"""

import multiprocessing
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from typing import Any, NamedTuple

from conjoin import fault_points
from tests.faults.writer import Chapter, tell

CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["tests.faults.processes", "tests.faults.task_writer"])
KILLED = -signal.SIGKILL
PATIENCE_S = 60


class Fault(NamedTuple):
    """Dies when it comes to a point for the nth time."""

    point: str
    nth: int

    def __str__(self) -> str:
        return f"{self.point}:{self.nth}"


def start(work: Callable[..., None], *arguments: Any) -> BaseProcess:
    process = CONTEXT.Process(target=work, args=arguments)
    process.start()
    return process


def end(process: BaseProcess) -> int:
    """How it ended. One that hangs is a failure, not a reason to wait for ever."""
    process.join(PATIENCE_S)
    if process.exitcode is None:
        process.kill()
        process.join()
        raise AssertionError(f"a process hung for {PATIENCE_S} seconds")
    return process.exitcode


def write(chapter: Chapter, fault: Fault | None = None) -> None:
    """Runs in a process of its own."""
    if fault is not None:
        fault_points.arm(*fault)
    tell(chapter)


def write_and_wait(chapter: Chapter, fault: Fault, reached: Any, go_on: Any) -> None:
    """Runs in a process of its own: at the point it falls asleep, and knows nothing of what happens meanwhile."""
    arm_sleep(fault, reached, go_on)
    tell(chapter)


def arm_sleep(fault: Fault, reached: Any, go_on: Any) -> None:
    def sleep() -> None:
        reached.set()
        assert go_on.wait(PATIENCE_S)

    fault_points.arm(*fault, sleep)


@contextmanager
def asleep(
    work_for: Any, fault: Fault, work: Callable[..., None] = write_and_wait, *, may_stumble: bool = False
) -> Iterator[bool]:
    """A writer that sleeps at a point while the block runs, and then goes on to its end. False: it never came there.

    `may_stumble`: over what another one has overwritten.
    """
    reached, go_on = CONTEXT.Event(), CONTEXT.Event()
    process = start(work, work_for, fault, reached, go_on)
    while not reached.wait(0.02) and process.exitcode is None:
        pass
    try:
        yield reached.is_set()
    finally:
        go_on.set()
        assert end(process) == 0 or may_stumble

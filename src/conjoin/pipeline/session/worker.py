"""In a Python worker of Spark: what our tasks need of it, for as long as one of them runs.

Workers go on to run functions of others, who find them as they were. Only workers of our own daemon keep a mark: what
was loaded once stays out of the way of the collector.
"""

import gc
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from conjoin import runs_as
from conjoin.errors import SparkFailed

Batches = Iterable[pa.RecordBatch]
_OUR_DAEMON = "conjoin.spark_daemon"
# Nearly all objects of a fold die with their key and without the collector, which would look in vain.
_RARELY = (1_000_000, 20, 20)


@contextmanager
def ready_worker() -> Iterator[None]:
    """For the time of one task."""
    before = gc.get_threshold()
    gc.set_threshold(*_RARELY)
    if _OUR_DAEMON in sys.modules and not gc.get_freeze_count():
        # Spark collects after each task, to find all modules still alive.
        gc.collect()
        gc.freeze()
    try:
        yield
    finally:
        gc.set_threshold(*before)


class SameCode:
    """Goes to a worker before everything else of a task: compiled records cannot be read by their source, nor these by
    what was compiled.
    """

    def __reduce__(self) -> tuple[Callable[[str], object], tuple[str]]:
        return check_code, (_code(),)


def _code() -> str:
    return runs_as.partition(":")[0]


def check_code(of_driver: str) -> SameCode:
    if of_driver != _code():
        raise SparkFailed(
            f"the driver's conjoin is {of_driver}, and that of a worker {_code()}: install the same wheel on both, or"
            " set CONJOIN_PURE=1 for both"
        )
    return SameCode()


def in_worker(task: Callable[[Batches], Batches]) -> Callable[[Batches], Iterator[pa.RecordBatch]]:
    """A task for `mapInArrow`, in a worker that is ready for it."""
    both = (SameCode(), task)

    def run(batches: Batches) -> Iterator[pa.RecordBatch]:
        _, task = both
        with ready_worker():
            yield from task(batches)

    return run

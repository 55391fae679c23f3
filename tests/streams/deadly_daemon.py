"""Spark's daemon of Python workers, except that a worker takes others with it at a point of a commit.

    BLOW=written:2:java python -m tests.streams.deadly_daemon pyspark.worker

DRIVER is the process of the driver, and the daemon's parent is its JVM. `zombie` kills the driver alone: the worker
goes on to commit what nobody waits for any more.
"""

import os
import signal
from functools import partial

from pyspark.daemon import manager

from conjoin import fault_points

VARIABLE = "BLOW"
DRIVER = "DRIVER"
VICTIMS = ("driver", "java", "both", "zombie")


def strike(victims: str, driver: int, java: int) -> None:
    if victims != "java":
        os.kill(driver, signal.SIGKILL)
    if victims in ("java", "both"):
        os.kill(java, signal.SIGKILL)
    if victims != "zombie":
        fault_points.die()


def arm() -> None:
    # What the driver was told by its environment is not for its workers.
    fault_points.disarm()
    if os.environ.get(VARIABLE):
        point, nth, victims = os.environ[VARIABLE].split(":")
        fault_points.arm(point, int(nth), partial(strike, victims, int(os.environ[DRIVER]), os.getppid()))


if __name__ == "__main__":
    arm()
    manager()

"""Where Spark will run, seen from the settings alone: nothing of Spark is imported to know it."""

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from conjoin.settings import Settings

SUBMITTED = "PYSPARK_GATEWAY_PORT"
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?")
_ELSEWHERE = re.compile(r"(spark|k8s|sc|mesos)://.+|yarn|local-cluster\[.+\]")


def local_cores(master: str) -> int | None:
    """How many cores a local master uses; None when the master is not local."""
    found = _LOCAL.fullmatch(master.strip())
    if found is None:
        return None
    return (os.cpu_count() or 1) if found[1] == "*" else int(found[1] or 1)


def is_master(master: str) -> bool:
    """Is it a master as Spark writes one?"""
    return local_cores(master) is not None or _ELSEWHERE.fullmatch(master.strip()) is not None


def will_run_here(settings: "Settings") -> bool:
    """Will plain paths be paths of this machine? Under spark-submit nobody knows before the session is there."""
    return local_cores(settings.master) is not None and SUBMITTED not in os.environ

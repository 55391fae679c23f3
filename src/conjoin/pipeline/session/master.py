"""Where Spark will run, seen from the settings alone: nothing of Spark is imported to know it."""

import os
import re
from typing import TYPE_CHECKING

from conjoin.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conjoin.settings import Settings

SUBMITTED = "PYSPARK_GATEWAY_PORT"
CONNECT = "sc://"
_NO_STREAMS = (
    "Spark Connect runs what is done with the batches of a stream on its server, and {what} does it here: give a"
    " classic master (--master local[*], spark://..., yarn, k8s://...), or run the command beside the cluster with"
    " spark-submit"
)
_LOCAL = re.compile(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_ELSEWHERE = re.compile(r"(spark|k8s|sc|mesos)://.+|yarn|local-cluster\[.+\]")


def is_address(path: str) -> bool:
    """Does it say on which file system it is? Hadoop writes `file:/a` and `dbfs:/a`, too."""
    return _SCHEME.match(path) is not None


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


def refuse_connect(settings: "Settings", what: str) -> None:
    """Before a session is made: what has streams needs a classic one."""
    if settings.master.startswith(CONNECT) and SUBMITTED not in os.environ:
        raise InputError([_NO_STREAMS.format(what=what)])


def check_classic(spark: "SparkSession", what: str) -> None:
    """The same of a session that is there."""
    if type(spark).__module__.startswith("pyspark.sql.connect."):
        raise InputError([_NO_STREAMS.format(what=what)])

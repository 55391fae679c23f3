"""Progress: which step a job is at, and how far Spark is with it just now, for whoever shows it."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Step = Callable[[str], None]
"""Told what is done from now on."""


class Stage(NamedTuple):
    """The stages that run now, taken together."""

    tasks: int
    done: int


def running_stage(spark: "SparkSession") -> Stage | None:
    """What the status tracker of a classic session says; None between jobs and on Spark Connect, which has none."""
    context = getattr(spark, "_sc", None)
    if context is None:
        return None
    tracker = context.statusTracker()
    stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
    known = [stage for stage in stages if stage is not None]
    if not known:
        return None
    return Stage(sum(stage.numTasks for stage in known), sum(stage.numCompletedTasks for stage in known))

"""Recorded scenarios with the commands carried by Spark's tasks: a handful, or all of them with SPARK_STORIES=all."""

import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from conjoin.runtime.opening import temporary_broker
from conjoin.testing.scenarios.stages import on_store
from tests.conformance.test_golden import NAMES, SCENARIOS, difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HANDFUL = {
    *("cardinality/two_processes", "buffer/message_first", "start/lock_buffers", "elements/boundary_interrupting"),
    "older_pages/once_per_instance",
}
ALL = os.environ.get("SPARK_STORIES") == "all"
STORIES = [(path, name) for path, name in zip(SCENARIOS, NAMES, strict=True) if ALL or name in HANDFUL]


@pytest.mark.parametrize("shards", [1, 3] if ALL else [3])
@pytest.mark.parametrize("path", [path for path, _ in STORIES], ids=[name for _, name in STORIES])
def test_scenario_has_the_same_outcome_on_spark(path: Path, shards: int, spark: "SparkSession") -> None:
    from conjoin.pipeline.spark_runner import carried_by_spark

    place = on_store(partial(temporary_broker, shards), partial(carried_by_spark, spark=spark))
    assert difference(path, shards, place) == []


def test_there_is_a_handful() -> None:
    assert ALL or len(STORIES) == len(HANDFUL)

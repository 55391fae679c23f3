"""The data pipeline on Apache Spark: the only package that imports pyspark.

It carries tables to the kernel and back; it decides nothing. Only DataFrame functions are used, so everything runs
on a classic session and on Spark Connect.
"""

from typing import TYPE_CHECKING

from conjoin.pipeline.correlate.correlate import correlate
from conjoin.pipeline.correlate.correlated import Correlated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Correlated", "correlate", "register"]


def register(spark: "SparkSession") -> None:
    """Let a session read stores: `spark.read.format("conjoin")`."""
    # Imported here, so that the workers of `correlate` need not load the runtime.
    from conjoin.pipeline import source

    source.register(spark)

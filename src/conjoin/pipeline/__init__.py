"""The data pipeline on Apache Spark: the only package that imports pyspark.

It carries tables to the kernel and back; it decides nothing. Only DataFrame functions are used, so everything runs
on a classic session and on Spark Connect.
"""

from typing import TYPE_CHECKING, Any

from conjoin.pipeline.correlate import correlate
from conjoin.pipeline.correlate.correlated import Correlated
from conjoin.pipeline.streaming.stream import CorrelateStream, correlate_stream

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from conjoin.pipeline.declared.pipeline import Pipeline

__all__ = ["CorrelateStream", "Correlated", "Pipeline", "correlate", "correlate_stream", "register", "spark_session"]


def __getattr__(name: str) -> Any:
    """`Pipeline` brings the runtime, which workers of `correlate` need not load."""
    if name == "Pipeline":
        from conjoin.pipeline.declared.pipeline import Pipeline

        return Pipeline
    raise AttributeError(f"module 'conjoin.pipeline' has no attribute {name!r}")


def spark_session(app_name: str = "conjoin") -> "SparkSession":
    """The active Spark session, or a new one sized for this machine, with the settings of conjoin.toml.

    A plain session shuffles into 200 partitions, which takes a minute for three rows on a laptop; this one shuffles
    into two for each core. It writes no log below errors, and ends with the process.
    """
    from conjoin.pipeline.session.session import session
    from conjoin.settings import load

    return session(load(), app_name)


def register(spark: "SparkSession") -> None:
    """Let a session read stores: `spark.read.format("conjoin")`."""
    # Imported here, so that the workers of `correlate` need not load the runtime.
    from conjoin.pipeline import source

    source.register(spark)

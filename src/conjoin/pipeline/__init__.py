"""The data pipeline on Apache Spark: the only package that imports pyspark.

It carries tables to the kernel and back; it decides nothing. Only DataFrame functions are used, so everything runs
on a classic session and on Spark Connect.
"""

from conjoin.pipeline.correlate import correlate
from conjoin.pipeline.correlated import Correlated

__all__ = ["Correlated", "correlate"]

"""The data source `conjoin`: the tables of a store as DataFrames, `spark.read.format("conjoin")`.

Workers open the store themselves, from its address. Nothing here decides or writes anything.
"""

from conjoin.pipeline.source.datasource import ConjoinDataSource, register

__all__ = ["ConjoinDataSource", "register"]

"""The data source `conjoin`: the tables of a store as DataFrames, and DataFrames as messages of a store.

Workers open the store themselves, from its address. Reading changes nothing; writing goes the way of `ingest`.
"""

from conjoin.pipeline.source.datasource import ConjoinDataSource, register, store_table

__all__ = ["ConjoinDataSource", "store_table", "register"]

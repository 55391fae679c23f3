"""Exports: the tables of a store as folders of Parquet that any tool reads, each event in them exactly once.

`export_tables` ties it together. Nothing here changes the store.
"""

from conjoin.pipeline.export.exporting import Exported, Order, export_tables

__all__ = ["Exported", "Order", "export_tables"]

"""Exports: the tables of a store as folders of Parquet or Delta that any tool reads, each event in them exactly once;
and its events as records of Kafka, each at least once.

`export_tables` and `export_to_kafka` tie it together. Nothing here changes the store.
"""

from conjoin.pipeline.export.exporting import Exported, ExportRequest, export_tables
from conjoin.pipeline.export.kafka import KafkaOrder, export_to_kafka

__all__ = ["Exported", "KafkaOrder", "ExportRequest", "export_tables", "export_to_kafka"]

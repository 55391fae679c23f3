"""Declared pipelines: a file says where rows come from, what to do with them, and where results go.

file.py       what a file may say; everything that is wrong with it at once, without Spark
sources.py    a source -> DataFrame; rows -> columns of ours
sinks.py      rows of a batch -> Kafka, Delta, Iceberg, files, any format of Spark
delivery.py   which sink has which batch
option_secrets.py   what may be told of options
correlating.py, storing.py   what to do: correlate; publish into a store, receive into the inbox
schedule_table.py, scheduling.py   or run the schedule of an inbox, of a store or of tables
pipeline.py   all of it, once or until it is stopped
"""

from conjoin.pipeline.declared.pipeline import Pipeline

__all__ = ["Pipeline"]

"""Tables as streams: verdicts without a store, batch after batch, each exactly once.

stream.py         streams of Spark -> batches
checkpoint.py     what Spark has read, beside what a state knows
batches.py        one batch: how far time has come, the folds, the commit
batch_rows.py     tables or streams -> rows of the one shape, each with its bucket
carriers.py       Spark's tasks, or this process
bucket_fold.py    in a task: open the buckets, fold what is touched, write them
closings.py       rows of one subscription become one
state_rows.py     what a fold keeps -> rows of the one shape
bucket_files.py   a bucket is a file
manifest.py       the commit, and what it names
output_folder.py  staged files appear
state_tables.py   what a state holds, as the tables of a run
"""

from conjoin.pipeline.streaming.batches import BatchReport, CorrelateBatches
from conjoin.pipeline.streaming.stream import CorrelateStream, correlate_stream

__all__ = ["BatchReport", "CorrelateBatches", "CorrelateStream", "correlate_stream"]

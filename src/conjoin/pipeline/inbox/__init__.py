"""The inbox on Spark: what is due is tried by one task a shard. The rules and the commits are those of the runtime.

draining.py    what a task does: the requests of a run, on one shard, for a bounded time
inbox.py       a run: jobs as long as there is something for them, then what is better done in one place
sharing.py     the calls that remote targets allow, over the tasks that make them
tables/        without a store: the inbox is a table, and a run a function of DataFrames
"""

from conjoin.pipeline.inbox.inbox import SparkInbox
from conjoin.pipeline.inbox.tables.inbox_run import correlate_inbox

__all__ = ["SparkInbox", "correlate_inbox"]

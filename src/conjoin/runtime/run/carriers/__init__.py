"""Who runs batches: one after the other, a thread a shard, or tasks of Spark."""

"""make bench-pipeline: the pipeline on Spark against the broker alone, on the same state, in the same run."""

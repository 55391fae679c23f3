"""The pipeline on Spark against the broker itself, on the same state, in the same run."""

"""The inbox's part of a run on one shard: what is due is tried, and what came of it is booked."""

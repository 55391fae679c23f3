"""Shards that run the kernel: what is deployed, where an instance lives, and the engine in memory."""

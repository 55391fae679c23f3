"""Requests of the event loop to the shards, in batches, and the replies back."""

"""What keeps a store well: sweeps, retention, erasing, backup, and another number of shards."""

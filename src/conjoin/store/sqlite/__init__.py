"""SQLite: a data directory with `catalog.db` and one file a shard, for one machine."""

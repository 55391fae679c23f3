"""PostgreSQL: one database a store, a schema a shard, for more than one machine."""

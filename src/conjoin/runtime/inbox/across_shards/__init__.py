"""Where messages of the inbox live, and groups that are on several shards."""

"""What became of instances and messages, from the events of an engine in memory or from a store."""

"""What became of instances and messages, told from the events of an engine in memory or from a store."""

"""What one run has loaded of a shard, and how the rest is found when a command needs it."""

"""conjoin store: make, look after, copy and check a store."""

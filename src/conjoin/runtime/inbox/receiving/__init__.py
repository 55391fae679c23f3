"""How messages come into the inbox: rows and headers of a source become arrivals of a shard."""

"""conjoin serve and what belongs to a server: callers and notices."""

"""Near misses across keys: one more pass over the messages that nobody took and those who still wait."""

"""What became of a message, for people: verdicts with their reasons, near misses, and sentences made of both."""

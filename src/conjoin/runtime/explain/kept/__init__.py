"""What is kept with a lost message: what was near, and which message was sent in place of it."""

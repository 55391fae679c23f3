"""What a client can ask of an engine, and what it is answered."""

"""make bench-gateway: `conjoin serve` as its clients see it, from a process of their own."""

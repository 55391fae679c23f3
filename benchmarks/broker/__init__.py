"""make bench-broker: the durable broker against the home-made solution of a day, on SQLite and PostgreSQL."""

"""make bench-versus: the same story told to Conjoin and to a Zeebe broker, one after the other, by one driver."""

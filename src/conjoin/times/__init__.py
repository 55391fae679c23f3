"""Times as texts and numbers: the calendar, ISO 8601, and durations as people write them. Pure, for everybody."""

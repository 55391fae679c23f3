"""Is the true cause named first? Planted mistakes with a known cause, in stores, tables and the inbox."""

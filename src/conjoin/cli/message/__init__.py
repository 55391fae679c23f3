"""conjoin message: publish, correlate, explain and list messages."""

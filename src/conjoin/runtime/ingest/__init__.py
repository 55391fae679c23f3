"""Ingest: rows of any source become messages. No Spark here: a request of the gateway goes the same way."""

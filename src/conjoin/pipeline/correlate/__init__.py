"""Whole tables: messages and who waits in, verdicts and everything that follows from them out."""

from conjoin.pipeline.correlate.correlate import correlate

__all__ = ["correlate"]

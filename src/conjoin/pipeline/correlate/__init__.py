"""Whole tables: messages and who waits in, verdicts and everything that follows from them out."""

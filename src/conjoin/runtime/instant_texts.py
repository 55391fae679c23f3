"""Instants as texts, for the edges: microseconds since 1970 and ISO 8601, there and back."""

from conjoin.times.iso8601 import instant_text, read_instant

__all__ = ["instant_text", "read_instant"]

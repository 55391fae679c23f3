"""Readings of a store that end (`conjoin.store.reading`), for those who ask the runtime."""

from conjoin.store.reading import Reading, at_most, has_deadline, is_late, reading

__all__ = ["Reading", "at_most", "has_deadline", "is_late", "reading"]

"""Queries of the console: lists and single things in plain values, within a bound of time."""

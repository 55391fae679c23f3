"""Benchmarks: each prints a table and one line of JSON, as ratios against a peer in the same run."""

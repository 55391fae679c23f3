"""Histories that are alike: the kernel decides one of them, and the answer is filled for all."""
